import { type Access, accessRules } from '#conductor/auth/access-rules.ts';
import type { Authenticator } from '#conductor/auth/authenticator.ts';
import { judge } from '#conductor/auth/authorize.ts';
import type { Credentials } from '#conductor/auth/sessions.ts';
import type { Ownership } from '#conductor/nodes/node-ownership.ts';
import { AppError } from '#shared/errors/app-error.ts';

/**
 * Whether who has an open console would be given it now: tokens expire and are deleted, users leave, nodes change hands.
 * @param ownershipOf asks the database whose the node is
 * @returns why not; `undefined` = they would.
 */
export async function whyForbidden(
  auth: Pick<Authenticator, 'unproven' | 'recall' | 'check'>,
  credentials: Credentials | undefined,
  ownershipOf: () => Promise<Ownership | undefined>,
): Promise<string | undefined> {
  if (auth.unproven) return undefined;
  const caller = credentials && (auth.recall(credentials) ?? (await check(auth, credentials)));
  if (caller === 'busy') return undefined;
  if (!caller) return 'the login has ended';
  const verdict = judge(consoleAccess(), caller, await ownershipOf());
  return verdict === 'allowed' ? undefined : 'the login has no right to this node any more';
}

/** So many passwords are being checked that this one is asked about later. */
function check(auth: Pick<Authenticator, 'check'>, credentials: Credentials) {
  return auth.check(credentials).catch((error: unknown) => {
    if (error instanceof AppError && error.code === 'busy') return 'busy' as const;
    throw error;
  });
}

function consoleAccess(): Access {
  const access = accessRules.find((rule) => rule.policy === 'baton:node:console')?.access;
  if (access === undefined || access === 'public') throw new AppError('internal', 'consoles have no access rule');
  return access;
}
