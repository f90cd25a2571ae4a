import { ApiError } from "../api/errors";
import type { TokenSource, Unauthorized } from "../api/http";
import { expiryOf, parseClaims } from "./claims";
import { hearRefusal, Keeper, readToken, type Last } from "./credentials";
import type { Authority, Tokens } from "./oauth";

/** Who is sent a token, in words, and the audience that it has to be for; empty is not known. */
export interface Recipient {
  name: string;
  audience: string;
}

/** Tokens for others than the one that somebody signed in for, by their audience. */
const others = new Map<string, Keeper>();
/** The token that was refused for its audience, by the audience that was wanted. */
const refused = new Map<string, string>();

/** The audiences that a token names instead of this one; null where it may be for it. */
export function findOther(token: string, audience: string): string[] | null {
  const claims = parseClaims(token);
  const named = [claims?.["aud"] ?? []].flat().filter((one) => typeof one === "string");
  if (audience === "" || named.length === 0 || named.includes(audience)) return null;
  const expiry = expiryOf(claims);
  // What has ended is refused for that, whatever it was for.
  return expiry !== null && expiry < Date.now() ? null : named;
}

/** An answer 401 to a token that is for somebody else: signing in again as before mends nothing. */
export class WrongAudience extends ApiError {
  constructor(
    readonly recipient: Recipient,
    named: readonly string[],
  ) {
    super(
      401,
      "WrongAudience",
      `${recipient.name} asks for a token for the audience ${recipient.audience}; ` +
        `yours is for ${named.join(" and ")}.`,
    );
  }
}

/** What is sent to somebody: a token for them where one was got, else the one of the sign-in. */
export function tokensFor(recipient: Recipient): TokenSource {
  return async () => {
    const own = others.get(recipient.audience);
    if (own !== undefined) return own.read();
    const token = await readToken();
    if (token === null || refused.get(recipient.audience) !== token) return token;
    // It is not sent again to whom it is not for.
    throw new WrongAudience(recipient, findOther(token, recipient.audience) ?? []);
  };
}

/** Hears that somebody has refused what they were sent. Throws `WrongAudience`. */
export function refusalsOf(recipient: Recipient): Unauthorized {
  return async (token) => {
    const { audience } = recipient;
    const own = others.get(audience);
    if (own !== undefined) {
      if (await own.hear(token)) return true;
      others.delete(audience);
      return true; // with the one of the sign-in, or to be told what is asked for
    }
    const named = token === null ? null : findOther(token, audience);
    if (token === null || named === null) return hearRefusal(token);
    refused.set(audience, token);
    throw new WrongAudience(recipient, named);
  };
}

/** Keep what was got for an audience. Throws where the authority gave a token for another. */
export function keepFor(audience: string, tokens: Tokens, source: Authority): void {
  const named = findOther(tokens.access, audience);
  if (named !== null) {
    throw new Error(
      `The authority gave a token for ${named.join(" and ")} though one for ${audience} was asked for.`,
    );
  }
  const keeper = new Keeper();
  keeper.keep(tokens, source);
  others.set(audience, keeper);
}

/** Forget all of them, to end them at their authority. */
export function forgetOthers(): Last[] {
  const last = [...others.values()].map((one) => one.forget());
  others.clear();
  refused.clear();
  return last;
}
