// Serves Vault's own transit engine over HTTP, for tests of what drives one: the engine is the real one, its storage is
// memory, and of the server around it only paths, tokens and error replies are imitated.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"

	"github.com/hashicorp/vault/builtin/logical/transit"
	"github.com/hashicorp/vault/sdk/framework"
	"github.com/hashicorp/vault/sdk/logical"
)

const mount = "/v1/transit/"

type server struct {
	engine  logical.Backend
	storage logical.Storage
	token   string
}

func main() {
	storage := &logical.InmemStorage{}
	config := &logical.BackendConfig{StorageView: storage, System: logical.TestSystemView()}
	engine, err := transit.Backend(context.Background(), config)
	stopOn(err)
	for _, path := range engine.Paths {
		if path.ExistenceCheck == nil { // newer SDKs than the engine's own insist on one where things are created
			path.ExistenceCheck = func(context.Context, *logical.Request, *framework.FieldData) (bool, error) { return false, nil }
		}
	}
	stopOn(engine.Setup(context.Background(), config))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	stopOn(err)
	fmt.Printf("http://%s\n", listener.Addr())
	stopOn(http.Serve(listener, &server{engine, storage, os.Getenv("VAULT_TOKEN")}))
}

func (s *server) ServeHTTP(reply http.ResponseWriter, asked *http.Request) {
	if asked.Header.Get("X-Vault-Token") != s.token {
		answer(reply, http.StatusForbidden, map[string]any{"errors": []string{"permission denied"}})
		return
	}
	path, found := strings.CutPrefix(asked.URL.Path, mount)
	if !found {
		answer(reply, http.StatusNotFound, map[string]any{"errors": []string{"no handler for route"}})
		return
	}
	request := &logical.Request{Path: path, Storage: s.storage, Data: map[string]any{}}
	switch asked.Method {
	case http.MethodGet:
		request.Operation = logical.ReadOperation
	case http.MethodDelete:
		request.Operation = logical.DeleteOperation
	default:
		request.Operation = logical.UpdateOperation
		if asked.ContentLength > 0 {
			if err := json.NewDecoder(asked.Body).Decode(&request.Data); err != nil {
				answer(reply, http.StatusBadRequest, map[string]any{"errors": []string{err.Error()}})
				return
			}
		}
	}
	given, err := s.engine.HandleRequest(asked.Context(), request)
	switch {
	case given != nil && given.IsError():
		answer(reply, http.StatusBadRequest, map[string]any{"errors": []string{given.Error().Error()}})
	case err != nil:
		answer(reply, http.StatusBadRequest, map[string]any{"errors": []string{err.Error()}})
	case given == nil && request.Operation == logical.ReadOperation:
		answer(reply, http.StatusNotFound, map[string]any{"errors": []string{}})
	case given == nil || given.Data == nil:
		reply.WriteHeader(http.StatusNoContent)
	default:
		answer(reply, http.StatusOK, map[string]any{"data": given.Data})
	}
}

func answer(reply http.ResponseWriter, status int, body any) {
	reply.Header().Set("Content-Type", "application/json")
	reply.WriteHeader(status)
	_ = json.NewEncoder(reply).Encode(body)
}

func stopOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
