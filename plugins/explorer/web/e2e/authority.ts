import { createHash, generateKeyPairSync, randomUUID, sign } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";

export const CLIENT = "twinframe-explorer";
export const AUDIENCE = "https://twins.test";
/** What tokens may be asked for besides, by the parameter `resource`. */
export const CONTROL_AUDIENCE = "https://control.test";

/** Somebody who can sign in: `claims` come into the tokens. */
export interface Person {
  name: string;
  claims: Record<string, unknown>;
}

interface Code {
  person: string;
  audience: string;
  challenge: string;
  redirect: string;
  nonce: string | null;
}

const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });

function sealed(claims: object): string {
  const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString("base64url");
  const head = `${encode({ alg: "ES256", typ: "JWT", kid: "e2e" })}.${encode(claims)}`;
  const signature = sign("sha256", Buffer.from(head), {
    key: privateKey,
    dsaEncoding: "ieee-p1363",
  });
  return `${head}.${signature.toString("base64url")}`;
}

/**
 * An OpenID provider for tests: Authorization Code with PKCE for public clients, refresh tokens for
 * one use each, a session by cookie. Its sign-in page has a button for each person.
 */
export class TestAuthority {
  /** How long access tokens hold, in seconds. */
  lifetime = 3600;
  /** Whether it gives refresh tokens. */
  refreshes = true;
  /** What was asked of its token endpoint: the kinds of grant. */
  readonly grants: string[] = [];
  private readonly codes = new Map<string, Code>();
  private readonly refreshTokens = new Map<string, { person: string; audience: string }>();
  private server: Server | null = null;
  port = 0;

  constructor(readonly people: Record<string, Person>) {}

  get issuer(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  start(): Promise<this> {
    return new Promise((done) => {
      this.server = createServer((request, response) => {
        this.answer(request, response).catch((error: unknown) => {
          response.writeHead(500).end(String(error));
        });
      });
      this.server.listen(0, "127.0.0.1", () => {
        const address = this.server?.address();
        if (address && typeof address === "object") this.port = address.port;
        done(this);
      });
    });
  }

  stop(): void {
    this.server?.closeAllConnections();
    this.server?.close();
  }

  /** A token of somebody, as for a machine. */
  issue(person: string, lifetime = this.lifetime, audience = AUDIENCE): string {
    const now = Math.floor(Date.now() / 1000);
    const { claims, name } = this.find(person);
    return sealed({
      iss: this.issuer,
      aud: audience,
      sub: person,
      name,
      iat: now,
      nbf: now - 60,
      exp: now + lifetime,
      jti: randomUUID(),
      scope: "openid access:platform",
      ...claims,
    });
  }

  private find(person: string): Person {
    const found = this.people[person];
    if (found === undefined) throw new Error(`There is no ${person}`);
    return found;
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", this.issuer);
    response.setHeader("Access-Control-Allow-Origin", "*");
    response.setHeader("Access-Control-Allow-Headers", "*");
    if (request.method === "OPTIONS") return void response.writeHead(204).end();
    switch (url.pathname) {
      case "/.well-known/openid-configuration":
        return json(response, this.metadata());
      case "/jwks": {
        const key = publicKey.export({ format: "jwk" });
        return json(response, { keys: [{ ...key, kid: "e2e", use: "sig", alg: "ES256" }] });
      }
      case "/authorize":
        return this.authorize(url, request, response);
      case "/token":
        return this.token(new URLSearchParams(await read(request)), response);
      case "/logout":
        response.writeHead(302, {
          "Set-Cookie": "person=; Max-Age=0; Path=/",
          Location: url.searchParams.get("post_logout_redirect_uri") ?? "/",
        });
        return void response.end();
      case "/favicon.ico":
        return void response.writeHead(204).end();
      default:
        return void response.writeHead(404).end();
    }
  }

  private metadata(): object {
    return {
      issuer: this.issuer,
      authorization_endpoint: `${this.issuer}/authorize`,
      token_endpoint: `${this.issuer}/token`,
      end_session_endpoint: `${this.issuer}/logout`,
      jwks_uri: `${this.issuer}/jwks`,
      response_types_supported: ["code"],
      subject_types_supported: ["public"],
      id_token_signing_alg_values_supported: ["ES256"],
      code_challenge_methods_supported: ["S256"],
      token_endpoint_auth_methods_supported: ["none"],
    };
  }

  private authorize(url: URL, request: IncomingMessage, response: ServerResponse): void {
    const asked = url.searchParams;
    const redirect = asked.get("redirect_uri") ?? "";
    const known = /person=([\w-]+)/.exec(request.headers.cookie ?? "")?.[1];
    const person = asked.get("as") ?? known;
    const back = new URL(redirect);
    back.searchParams.set("state", asked.get("state") ?? "");
    if (asked.get("client_id") !== CLIENT || asked.get("code_challenge_method") !== "S256") {
      back.searchParams.set("error", "invalid_request");
    } else if (person === undefined && asked.get("prompt") === "none") {
      back.searchParams.set("error", "login_required");
    } else if (person === undefined) {
      return this.offer(url, response);
    } else {
      const code = randomUUID();
      this.codes.set(code, {
        person,
        audience: asked.get("resource") === CONTROL_AUDIENCE ? CONTROL_AUDIENCE : AUDIENCE,
        challenge: asked.get("code_challenge") ?? "",
        redirect,
        nonce: asked.get("nonce"),
      });
      back.searchParams.set("code", code);
    }
    response.writeHead(302, {
      Location: back.href,
      ...(person === undefined ? {} : { "Set-Cookie": `person=${person}; HttpOnly; Path=/` }),
    });
    response.end();
  }

  private offer(url: URL, response: ServerResponse): void {
    const links = Object.entries(this.people).map(([id, { name }]) => {
      url.searchParams.set("as", id);
      return `<p><a href="${url.href.replaceAll("&", "&amp;")}">${name}</a></p>`;
    });
    response.writeHead(200, { "Content-Type": "text/html" });
    response.end(
      `<!doctype html><title>Who are you?</title><h1>Who are you?</h1>${links.join("")}`,
    );
  }

  private token(asked: URLSearchParams, response: ServerResponse): void {
    this.grants.push(asked.get("grant_type") ?? "");
    if (asked.get("grant_type") === "refresh_token") {
      const known = this.refreshTokens.get(asked.get("refresh_token") ?? "");
      this.refreshTokens.delete(asked.get("refresh_token") ?? "");
      if (known === undefined || !this.refreshes) return refuse(response);
      return this.give(known, null, response);
    }
    const code = this.codes.get(asked.get("code") ?? "");
    this.codes.delete(asked.get("code") ?? "");
    const verifier = createHash("sha256").update(asked.get("code_verifier") ?? "");
    if (code === undefined || code.redirect !== asked.get("redirect_uri")) return refuse(response);
    if (verifier.digest("base64url") !== code.challenge) return refuse(response);
    this.give(code, code.nonce, response);
  }

  private give(
    { person, audience }: { person: string; audience: string },
    nonce: string | null,
    response: ServerResponse,
  ): void {
    const now = Math.floor(Date.now() / 1000);
    const refresh = this.refreshes ? randomUUID() : null;
    if (refresh !== null) this.refreshTokens.set(refresh, { person, audience });
    const identity = {
      iss: this.issuer,
      aud: CLIENT,
      sub: person,
      name: this.find(person).name,
      iat: now,
      exp: now + 300,
      ...(nonce === null ? {} : { nonce }),
    };
    json(response, {
      access_token: this.issue(person, this.lifetime, audience),
      token_type: "Bearer",
      expires_in: this.lifetime,
      id_token: sealed(identity),
      ...(refresh === null ? {} : { refresh_token: refresh }),
    });
  }
}

function json(response: ServerResponse, body: object, status = 200): void {
  response.writeHead(status, { "Content-Type": "application/json", "Cache-Control": "no-store" });
  response.end(JSON.stringify(body));
}

function refuse(response: ServerResponse): void {
  json(response, { error: "invalid_grant", error_description: "It is used or unknown." }, 400);
}

async function read(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString();
}
