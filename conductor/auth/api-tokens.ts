import { hash, randomBytes, randomUUID } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { asc, eq, sql } from 'drizzle-orm';
import type { Caller, Role } from '#conductor/kernel/caller.ts';
import { refusingDuplicates } from '#conductor/kernel/db/faults.ts';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { type ApiTokenRow, apiTokens } from '#conductor/kernel/db/schema/access.ts';
import { throwUnreadable } from '#conductor/kernel/files.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Log } from '#shared/log.ts';
import { readPrivateFile } from '#shared/private-file.ts';

export function listApiTokens(db: Queryable): Promise<ApiTokenRow[]> {
  return db.select().from(apiTokens).orderBy(asc(apiTokens.id));
}

export async function findApiToken(db: Queryable, digest: string): Promise<ApiTokenRow | undefined> {
  const [row] = await db.select().from(apiTokens).where(eq(apiTokens.digest, digest));
  return row;
}

/** @throws AppError `conflict` for a name that is taken. */
async function insertApiToken(db: Queryable, token: typeof apiTokens.$inferInsert): Promise<ApiTokenRow> {
  const [row] = await refusingDuplicates(
    () => db.insert(apiTokens).values(token).returning(),
    () => `A token with name ${token.name} already exists.`,
  );
  if (!row) throw new AppError('internal', `insert token ${token.name}: the database answered no row`);
  return row;
}

/** Deletes a token by UUID or name. @returns its UUID, or `undefined` when there is none. */
async function deleteApiToken(db: Queryable, ident: string): Promise<string | undefined> {
  const [row] = await db
    .delete(apiTokens)
    .where(sql`${apiTokens.uuid}::text = ${ident.toLowerCase()} or ${apiTokens.name} = ${ident}`)
    .returning({ uuid: apiTokens.uuid });
  return row?.uuid;
}

async function recordTokenUse(db: Queryable, tokenUuid: string): Promise<void> {
  await db.update(apiTokens).set({ lastUsedAt: sql`now()` }).where(eq(apiTokens.uuid, tokenUuid));
}

const shortest = 32;

/**
 * Reads the token with which the first administrator makes the others. A missing file is made, readable by its owner alone:
 * anyone who may read the conductor's data directory owns the conductor anyway.
 * @returns its digest
 * @throws AppError `invalid_argument` naming the file.
 */
export async function readAdminToken(file: string, log: Log): Promise<string> {
  const setting = 'BATON_ADMIN_TOKEN_FILE';
  const text = await readPrivateFile(file).catch(async (cause: unknown) => {
    if ((cause as NodeJS.ErrnoException).code !== 'ENOENT') return throwUnreadable(setting, file)(cause);
    const token = newToken();
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    await writeFile(file, `${token}\n`, { mode: 0o600, flag: 'wx' }).catch((error: unknown) => {
      throw new AppError('invalid_argument', `${setting}: make ${file}`, { cause: error });
    });
    log.info({ file }, `a token of an administrator was made; to use baton with it: set BATON_TOKEN_FILE=${file}`);
    return token;
  });
  const token = text.trim();
  if (token.length < shortest) {
    throw new AppError('invalid_argument', `${setting}: ${file} must hold a token of at least ${shortest} characters`);
  }
  return tokenDigest(token);
}

/** So long a token that was deleted, or has changed, by another conductor may go on here. */
const rememberMs = 5000;
const maxRemembered = 10_000;
/** `last_used_at` is no more exact than this: not every request is to write. */
const useEveryMs = 60_000;

export interface ApiTokens {
  /** Recalls the owner of a token, if it was looked up a moment ago; asks nobody. */
  recall(token: string): Caller | undefined;
  /** Finds the owner of a token; `undefined` for none, or one that has expired. */
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

/** Makes a new token: 256 random bits, with a beginning that scanners for leaked secrets can look for. */
function newToken(): string {
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
