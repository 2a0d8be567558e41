import { eq, lte, sql } from 'drizzle-orm';
import { tokenDigest } from '#conductor/auth/api-tokens.ts';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { sessions } from '#conductor/kernel/db/schema/access.ts';
import type { Secrets } from '#conductor/kernel/secrets/secrets.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Proof in a request of who sends it. */
export type Credentials =
  | { readonly kind: 'password' /** `name:password` */; readonly text: string }
  | { readonly kind: 'token'; readonly text: string };

/** A working day; then the browser logs in again. */
const sessionMs = 12 * 60 * 60 * 1000;
/** So long a session that another conductor has ended may go on here, as a token does. */
const rememberMs = 5000;
const maxRemembered = 10_000;
/** Browsers keep no more than 4096 bytes of a cookie. */
const maxCookie = 3900;
const place = 'session';

/** Logins of browsers. A session proves nothing by itself: it carries credentials, which are checked as any. */
export interface Sessions {
  /** @throws AppError `invalid_argument` for credentials that no cookie can carry. */
  begin(credentials: Credentials): Promise<{ readonly cookie: string; readonly endsAt: Date }>;
  /** Finds the credentials that the session was begun with; `undefined` = there is none, or it has ended. */
  find(cookie: string): Promise<Credentials | undefined>;
  end(cookie: string): Promise<void>;
}

export function createSessions(
  db: Queryable,
  { now, secrets }: { readonly now: () => Date; readonly secrets: Pick<Secrets, 'seal' | 'open'> },
): Sessions {
  const remembered = new Map<string, { readonly endsAt: Date; readonly until: number }>();
  const isOpen = async (digest: string): Promise<boolean> => {
    const known = remembered.get(digest);
    if (known && known.until > now().getTime()) return known.endsAt > now();
    remembered.delete(digest);
    const [row] = await db.select().from(sessions).where(eq(sessions.digest, digest));
    if (!row || row.endsAt <= now()) return false;
    if (remembered.size >= maxRemembered) remembered.clear();
    remembered.set(digest, { endsAt: row.endsAt, until: now().getTime() + rememberMs });
    return true;
  };
  return {
    begin: async (credentials) => {
      const cookie = secrets.seal(JSON.stringify(credentials), place);
      if (cookie.length > maxCookie)
        throw new AppError('invalid_argument', 'The token or password is too long for the cookie of a session');
      const endsAt = new Date(now().getTime() + sessionMs);
      await db.delete(sessions).where(lte(sessions.endsAt, sql`now()`));
      await db.insert(sessions).values({ digest: tokenDigest(cookie), endsAt });
      return { cookie, endsAt };
    },
    find: async (cookie) => {
      const credentials = unseal(secrets, cookie);
      return credentials && (await isOpen(tokenDigest(cookie))) ? credentials : undefined;
    },
    end: async (cookie) => {
      const digest = tokenDigest(cookie);
      remembered.delete(digest);
      await db.delete(sessions).where(eq(sessions.digest, digest));
    },
  };
}

/** Opens a sealed text; `undefined` for text that this database's conductors have not sealed, which costs no query. */
function unseal(secrets: Pick<Secrets, 'open'>, cookie: string): Credentials | undefined {
  try {
    return JSON.parse(secrets.open(cookie, place)) as Credentials;
  } catch {
    return undefined;
  }
}
