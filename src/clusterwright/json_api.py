"""Servers with a JSON interface, asked with a token: Vault, NetBox, Nautobot.

A token goes to the server that the user named, over TLS, and nowhere else: no redirect is followed, and plain HTTP
goes to this machine alone.
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
    """A client of the server at ``address``; ``authority`` is the PEM file its certificate is checked with.

    Raises ClusterwrightError for an address that is none, that holds a password, or over which a token would go in
    clear.
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
    """Why there was no answer; never empty. A proxy of the environment is named: the server may be well."""
    reason = str(error) or type(error).__name__
    try:
        proxy = _proxy_of(error.request.url)
    except RuntimeError:  # it was not asked yet
        proxy = None
    return reason if proxy is None else f"the proxy {proxy} does not answer for it: {reason}"


def _proxy_of(url: httpx.URL) -> str | None:
    """The proxy that the environment names for an address, without user and password; None without one."""
    proxies = getproxies()
    proxy = proxies.get(url.scheme) or proxies.get("all")
    if proxy is None or _is_loopback(url.host) or proxy_bypass(url.host):
        return None
    parts = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def answer_text(answer: httpx.Response) -> str:
    """The server's answer: status, reason and the beginning of the text; never empty."""
    if answer.has_redirect_location:
        return f"{answer.status_code}, a redirect to {answer.headers['location']}, which is not followed with a token"
    text = " ".join(answer.text.split())
    shown = text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]} …"
    return ", ".join(part for part in (str(answer.status_code), answer.reason_phrase, shown) if part)


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
