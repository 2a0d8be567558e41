import { timingSafeEqual } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { type ApiTokens, createApiTokens, readAdminToken, tokenDigest } from '#conductor/auth/api-tokens.ts';
import type { AuthConfig } from '#conductor/auth/auth-settings.ts';
import {
  createPasswordCheck,
  type PasswordUser,
  type PasswordUsers,
  parseHtpasswd,
} from '#conductor/auth/password-check.ts';
import { type Credentials, createSessions, type Sessions } from '#conductor/auth/sessions.ts';
import { type Caller, openApiCaller } from '#conductor/kernel/caller.ts';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { throwUnreadable, type WatchedFiles, watchFiles } from '#conductor/kernel/files.ts';
import type { Secrets } from '#conductor/kernel/secrets/secrets.ts';
import type { Clock } from '#shared/clock.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Log } from '#shared/log.ts';

/** Identifies callers, by `BATON_AUTH`. */
export interface Authenticator {
  readonly method: AuthConfig['method'];
  /** The caller of every request without a login (`BATON_AUTH=none`); `undefined` where all callers need one. */
  readonly unproven: Caller | undefined;
  /** Recalls the caller whose credentials were right a moment ago; reads no database, and counts as no attempt to log in. */
  recall(credentials: Credentials): Caller | undefined;
  /**
   * `undefined` = wrong.
   * @throws AppError `busy` when too many passwords are being checked.
   */
  check(credentials: Credentials): Promise<Caller | undefined>;
  readonly tokens: ApiTokens;
  readonly sessions: Sessions;
  close(): void;
}

/**
 * Reads what the method needs.
 * @throws AppError `invalid_argument` naming setting, file and line.
 */
export async function openAuthenticator(
  config: AuthConfig,
  context: {
    readonly db: Queryable;
    readonly clock: Pick<Clock, 'now'>;
    readonly log: Log;
    readonly secrets: Pick<Secrets, 'seal' | 'open'>;
  },
): Promise<Authenticator> {
  const { db, clock, log, secrets } = context;
  const tokens = createApiTokens(db, { now: () => clock.now(), log });
  const sessions = createSessions(db, { now: () => clock.now(), secrets });
  const base = { method: config.method, tokens, sessions };
  if (config.method === 'none') {
    return {
      ...base,
      unproven: openApiCaller,
      recall: () => openApiCaller,
      check: () => Promise.resolve(openApiCaller),
      close: () => undefined,
    };
  }
  const passwords = config.method === 'http_basic' ? await watchHtpasswd(config.htpasswdFile, log) : undefined;
  const adminToken =
    config.adminTokenFile === undefined ? undefined : await watchAdminToken(config.adminTokenFile, log);
  const checkPassword = createPasswordCheck(() => clock.now().getTime());
  const isAdminToken = (token: string): boolean =>
    adminToken !== undefined && timingSafeEqual(Buffer.from(adminToken.current()), Buffer.from(tokenDigest(token)));
  return {
    ...base,
    unproven: undefined,
    recall: ({ kind, text }) => {
      if (kind === 'token') return isAdminToken(text) ? firstAdmin : tokens.recall(text);
      return passwords && callerOf(checkPassword.recall(passwords.current(), text));
    },
    check: async ({ kind, text }) => {
      if (kind === 'token') return isAdminToken(text) ? firstAdmin : tokens.find(text);
      return passwords && callerOf(await checkPassword.check(passwords.current(), text));
    },
    close: () => {
      passwords?.close();
      adminToken?.close();
    },
  };
}

/**
 * Reads what `Authorization: Basic` or `Bearer`, or `X-Auth-Token` as keystone's clients send it, carry; `undefined` =
 * nothing.
 * @throws AppError `invalid_argument` for a header that can't be read, in Ironic's words.
 */
export function readCredentials(header: (name: string) => string | undefined): Credentials | undefined {
  const authorization = header('authorization');
  if (authorization === undefined) {
    const token = header('x-auth-token');
    return token ? { kind: 'token', text: token } : undefined;
  }
  const [, scheme = '', value] = /^(\S+)\s+(\S+)\s*$/.exec(authorization) ?? [];
  if (value === undefined) throw new AppError('invalid_argument', 'Could not parse Authorization header');
  if (scheme.toLowerCase() === 'bearer') return { kind: 'token', text: value };
  if (scheme.toLowerCase() !== 'basic') {
    throw new AppError('invalid_argument', 'Unsupported authorization type: it must be Basic or Bearer');
  }
  const text = Buffer.from(value, 'base64').toString('utf8');
  if (!text.includes(':')) throw new AppError('invalid_argument', 'Could not decode authorization token');
  return { kind: 'password', text };
}

const firstAdmin: Caller = { user: 'admin-token', role: 'admin', project: undefined };

function callerOf(user: PasswordUser | undefined): Caller | undefined {
  return user && { user: user.name, role: user.role, project: user.project };
}

function watchHtpasswd(file: string, log: Log): Promise<WatchedFiles<PasswordUsers>> {
  const read = async (): Promise<PasswordUsers> => {
    const text = await readFile(file, 'utf8').catch(throwUnreadable('BATON_HTPASSWD_FILE', file));
    const users = parseHtpasswd(text, file);
    if (!users.hasOneCost)
      log.warn({ file }, 'hashes of different cost: the time of a refusal reveals whether a user exists');
    return users;
  };
  return watchFiles([file], read, { log });
}

function watchAdminToken(file: string, log: Log): Promise<WatchedFiles<string>> {
  return watchFiles([file], () => readAdminToken(file, log), { log });
}
