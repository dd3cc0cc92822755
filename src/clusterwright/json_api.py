"""HTTP clients for JSON interfaces with a token: Vault, NetBox, Nautobot.

A token goes only to the server named by the user, over TLS: no redirect is followed, and plain HTTP is limited to this
machine.
"""

from __future__ import annotations

import ssl
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from clusterwright.finding import ClusterwrightError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import httpx

_MOST_SHOWN = 300


def open_server(
    address: str,
    headers: Mapping[str, str],
    *,
    timeout_s: float,
    authority: Path | None = None,
    connections: int = 1,
) -> httpx.Client:
    """A client of the server at ``address``; ``authority`` is the PEM file to check its certificate with.

    Raises ClusterwrightError for a malformed address, for one with a password, and for plain HTTP to another machine.
    """
    import httpx

    parts = urlsplit(address)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ClusterwrightError(f'"{address}" is no address of a server: write https://server.example.net.')
    if parts.username is not None or parts.password is not None:
        raise ClusterwrightError(
            "The address of the server has a user or a password in it: leave them out, the token says who asks."
        )
    is_here = _is_loopback(parts.hostname)
    if parts.scheme == "http" and not is_here:
        raise ClusterwrightError(f"{address}: the token would go over the network in clear. Write https://.")
    try:
        context = ssl.create_default_context(cafile=authority) if parts.scheme == "https" else True
    except (OSError, ssl.SSLError) as error:
        raise ClusterwrightError(f"{authority}: holds no certificates of authorities: {error}.") from error
    return httpx.Client(
        base_url=address.rstrip("/"),
        headers=dict(headers),
        timeout=timeout_s,
        verify=context,
        limits=httpx.Limits(max_connections=connections, max_keepalive_connections=connections),
        follow_redirects=False,
        trust_env=not is_here,  # no proxy between this machine and itself
    )


def reason_of(error: httpx.TransportError) -> str:
    """The reason for a missing answer, never empty, with the proxy of the environment, if one was used."""
    reason = str(error) or type(error).__name__
    try:
        proxy = _proxy_of(error.request.url)
    except RuntimeError:  # the request was not sent yet
        proxy = None
    return reason if proxy is None else f"the proxy {proxy} does not answer for it: {reason}"


def _proxy_of(url: httpx.URL) -> str | None:
    """The proxy set in the environment for an address, without user and password; None without one."""
    if _is_loopback(url.host) or proxy_bypass(url.host):
        return None
    proxies = getproxies()
    proxy = proxies.get(url.scheme) or proxies.get("all")
    if proxy is None:
        return None
    address = proxy if "://" in proxy else f"http://{proxy}"
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def answer_text(answer: httpx.Response) -> str:
    """The server's answer: status, reason and the beginning of the text; never empty."""
    if answer.has_redirect_location:
        return f"{answer.status_code}, a redirect to {answer.headers['location']}, which is not followed with a token"
    body = " ".join(answer.text.split())
    if len(body) > _MOST_SHOWN:
        body = f"{body[:_MOST_SHOWN]} …"
    return ", ".join(part for part in (str(answer.status_code), answer.reason_phrase, body) if part)


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
