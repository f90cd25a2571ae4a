import * as oauth from "oauth4webapi";

import type { Configuration } from "../api/types";
import { expiryOf, nameOf, parseClaims } from "./claims";

export type SignInConfiguration = NonNullable<Configuration["signIn"]>;

/** What a sign-in gave. */
export interface Tokens {
  access: string;
  /** When `access` ends, in milliseconds since 1970; null where nobody says. */
  expires: number | null;
  refresh: string | null;
  user: string | null;
}

/** What must be remembered from leaving for the authority until coming back. */
export interface Pending {
  state: string;
  nonce: string | null;
  verifier: string;
}

/** The authority answered that somebody has to do something first: a silent sign-in is none. */
const NEEDS_SOMEBODY = ["login_required", "interaction_required", "consent_required"];
/** How long an answer of the authority is waited for, in milliseconds. */
const PATIENCE = 15_000;

/** The OAuth 2.0 authorization server that signs for a service: Authorization Code with PKCE. */
export class Authority {
  private metadata: Promise<oauth.AuthorizationServer> | null = null;

  constructor(
    private readonly configuration: SignInConfiguration,
    /** Where the authority sends the browser back to. */
    private readonly redirectUri: string,
  ) {}

  /** The address to go to, and what to remember meanwhile. `silent` asks for no interaction. */
  async begin(silent: boolean): Promise<{ url: string; pending: Pending }> {
    const server = await this.discover();
    if (server.authorization_endpoint === undefined) {
      throw new Error(
        `The authority ${this.configuration.authority} has no authorization endpoint, so nobody ` +
          "can sign in there with a browser. Paste a token instead.",
      );
    }
    const { scopes } = this.configuration;
    const pending: Pending = {
      state: oauth.generateRandomState(),
      nonce: scopes.includes("openid") ? oauth.generateRandomNonce() : null,
      verifier: oauth.generateRandomCodeVerifier(),
    };
    const url = new URL(server.authorization_endpoint);
    const set = (name: string, value: string): void => url.searchParams.set(name, value);
    set("response_type", "code");
    set("client_id", this.configuration.clientId);
    set("redirect_uri", this.redirectUri);
    set("state", pending.state);
    set("code_challenge", await oauth.calculatePKCECodeChallenge(pending.verifier));
    set("code_challenge_method", "S256");
    if (scopes.length > 0) set("scope", scopes.join(" "));
    if (pending.nonce !== null) set("nonce", pending.nonce);
    if (silent) set("prompt", "none");
    for (const [name, value] of Object.entries(this.target())) set(name, value);
    return { url: url.href, pending };
  }

  /**
   * The tokens for what the authority sent back; null where a silent sign-in needs somebody. Throws
   * with what the authority says.
   */
  async complete(answer: URLSearchParams, pending: Pending): Promise<Tokens | null> {
    const server = await this.discover();
    const client = { client_id: this.configuration.clientId };
    try {
      const checked = oauth.validateAuthResponse(server, client, answer, pending.state);
      const response = await oauth.authorizationCodeGrantRequest(
        server,
        client,
        oauth.None(),
        checked,
        this.redirectUri,
        pending.verifier,
        { additionalParameters: this.target(), ...this.options() },
      );
      return buildTokens(
        await oauth.processAuthorizationCodeResponse(server, client, response, {
          expectedNonce: pending.nonce ?? oauth.expectNoNonce,
        }),
        null,
      );
    } catch (error) {
      if (error instanceof oauth.AuthorizationResponseError) {
        if (NEEDS_SOMEBODY.includes(error.error)) return null;
      }
      throw explain(error);
    }
  }

  /** New tokens for a refresh token, which may come with another one. */
  async refresh(refresh: string, user: string | null): Promise<Tokens> {
    const server = await this.discover();
    const client = { client_id: this.configuration.clientId };
    const response = await oauth.refreshTokenGrantRequest(server, client, oauth.None(), refresh, {
      additionalParameters: this.target(),
      ...this.options(),
    });
    const found = buildTokens(
      await oauth.processRefreshTokenResponse(server, client, response),
      refresh,
    );
    return { ...found, user: user ?? found.user };
  }

  /** End what the authority knows of the session; the address to go to, null where it has none. */
  async end(refresh: string | null, back: string): Promise<string | null> {
    const server = await this.discover();
    const client = { client_id: this.configuration.clientId };
    if (refresh !== null && server.revocation_endpoint !== undefined) {
      await oauth.revocationRequest(server, client, oauth.None(), refresh, this.options());
    }
    if (server.end_session_endpoint === undefined) return null;
    const url = new URL(server.end_session_endpoint);
    url.searchParams.set("client_id", this.configuration.clientId);
    url.searchParams.set("post_logout_redirect_uri", back);
    return url.href;
  }

  private discover(): Promise<oauth.AuthorizationServer> {
    this.metadata ??= this.read().catch((error: unknown) => {
      this.metadata = null;
      throw error;
    });
    return this.metadata;
  }

  private async read(): Promise<oauth.AuthorizationServer> {
    const issuer = new URL(this.configuration.authority);
    // SPEC: OpenID Connect Discovery 1.0 section 4, and RFC 8414 section 3 for servers without it.
    for (const algorithm of ["oidc", "oauth2"] as const) {
      const response = await this.ask(issuer, algorithm);
      if (response.ok) return oauth.processDiscoveryResponse(issuer, response);
    }
    throw new Error(`${issuer.href} publishes no metadata of an authorization server.`);
  }

  private async ask(issuer: URL, algorithm: "oidc" | "oauth2"): Promise<Response> {
    try {
      return await oauth.discoveryRequest(issuer, { algorithm, ...this.options() });
    } catch (error) {
      throw new Error(
        `The authority ${issuer.href} does not answer, or does not allow this page to ask (CORS).`,
        { cause: error },
      );
    }
  }

  /** What the token is for: RFC 8707 where it is an address, and what others call `audience`. */
  private target(): Record<string, string> {
    const { audience } = this.configuration;
    if (audience === "") return {};
    return /^https?:\/\//.test(audience) ? { resource: audience, audience } : { audience };
  }

  private options(): { [oauth.allowInsecureRequests]: boolean; signal: AbortSignal } {
    // SEC: plain http only where the service itself names such an authority, which it accepts for
    // loopback and development alone.
    return {
      signal: AbortSignal.timeout(PATIENCE),
      [oauth.allowInsecureRequests]: this.configuration.authority.startsWith("http://"),
    };
  }
}

function buildTokens(answer: oauth.TokenEndpointResponse, refresh: string | null): Tokens {
  const claims = parseClaims(answer.access_token);
  const identity = oauth.getValidatedIdTokenClaims(answer) ?? null;
  return {
    access: answer.access_token,
    expires:
      answer.expires_in === undefined
        ? expiryOf(claims)
        : Date.now() + Number(answer.expires_in) * 1000,
    refresh: answer.refresh_token ?? refresh,
    user: nameOf(identity) ?? nameOf(claims),
  };
}

/** Whether the authority itself has said no; another failure may be none in a while. */
export function isRefused(error: unknown): boolean {
  return error instanceof oauth.ResponseBodyError && error.status !== 429;
}

/** The error in the words of the authority where it has said any. */
function explain(error: unknown): Error {
  if (
    error instanceof oauth.AuthorizationResponseError ||
    error instanceof oauth.ResponseBodyError
  ) {
    const more = error.error_description ?? "";
    return new Error(`The authority refuses to sign you in: ${error.error}. ${more}`.trim(), {
      cause: error,
    });
  }
  return error instanceof Error ? error : new Error(String(error));
}
