import { hash, randomBytes, randomUUID } from 'node:crypto';
import { deleteApiToken, findApiToken, insertApiToken, recordTokenUse } from '#conductor/auth/api-token-store.ts';
import type { Caller, Role } from '#conductor/kernel/caller.ts';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import type { ApiTokenRow } from '#conductor/kernel/db/schema/api-token.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Log } from '#shared/log.ts';

/** So long a token that was deleted, or has changed, by another conductor may go on here. */
const rememberMs = 5000;
const maxRemembered = 10_000;
/** `last_used_at` is no more exact than this: not every request is to write. */
const useEveryMs = 60_000;

export interface ApiTokens {
  /** Whose token it is, if it was looked up a moment ago; asks nobody. */
  recall(token: string): Caller | undefined;
  /** Whose token it is; `undefined` for none, or one that has expired. */
  find(token: string): Promise<Caller | undefined>;
  /** The token itself is in this answer and nowhere else. @throws AppError `conflict` for a name that is taken. */
  create(description: TokenDescription): Promise<{ readonly row: ApiTokenRow; readonly token: string }>;
  /** By UUID or name. @throws AppError `not_found`. */
  remove(ident: string): Promise<void>;
}

export interface TokenDescription {
  readonly name: string;
  readonly role: Role;
  readonly project?: string | undefined;
  readonly expiresAt?: Date | undefined;
  readonly createdBy?: string | undefined;
}

/** A new token: 256 random bits, with a beginning that scanners for leaked secrets can look for. */
export function newToken(): string {
  return `baton_${randomBytes(32).toString('base64url')}`;
}

export function tokenDigest(token: string): string {
  return hash('sha256', token);
}

export function createApiTokens(db: Queryable, options: { readonly now: () => Date; readonly log: Log }): ApiTokens {
  const { now, log } = options;
  const remembered = new Map<string, { readonly row: ApiTokenRow; readonly until: number }>();
  const usedAt = new Map<string, number>();
  const isOver = (row: ApiTokenRow): boolean => row.expiresAt !== null && row.expiresAt <= now();

  const noteUse = (row: ApiTokenRow): void => {
    const time = now().getTime();
    if (time - (usedAt.get(row.uuid) ?? row.lastUsedAt?.getTime() ?? 0) < useEveryMs) return;
    usedAt.set(row.uuid, time);
    recordTokenUse(db, row.uuid).catch((err: unknown) =>
      log.warn({ err, token: row.name }, 'use of a token not recorded'),
    );
  };
  return {
    recall: (token) => {
      const known = remembered.get(tokenDigest(token));
      if (!known || known.until <= now().getTime() || isOver(known.row)) return undefined;
      noteUse(known.row);
      return callerOf(known.row);
    },
    find: async (token) => {
      const digest = tokenDigest(token);
      remembered.delete(digest);
      const row = await findApiToken(db, digest);
      if (!row || isOver(row)) return undefined;
      if (remembered.size >= maxRemembered) remembered.clear();
      remembered.set(digest, { row, until: now().getTime() + rememberMs });
      noteUse(row);
      return callerOf(row);
    },
    create: async ({ name, role, project, expiresAt, createdBy }) => {
      const token = newToken();
      const row = await insertApiToken(db, {
        uuid: randomUUID(),
        name,
        digest: tokenDigest(token),
        role,
        project: project ?? null,
        expiresAt: expiresAt ?? null,
        createdBy: createdBy ?? null,
      });
      return { row, token };
    },
    remove: async (ident) => {
      const uuid = await deleteApiToken(db, ident);
      if (uuid === undefined) throw new AppError('not_found', `Token ${ident} could not be found.`);
      for (const [digest, { row }] of remembered) if (row.uuid === uuid) remembered.delete(digest);
      usedAt.delete(uuid);
    },
  };
}

function callerOf(row: ApiTokenRow): Caller {
  return { user: row.name, role: row.role, project: row.project ?? undefined };
}
