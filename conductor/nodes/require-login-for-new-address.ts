import { drivers } from '#conductor/drivers/driver-table.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** By the property that holds a login's secret: those that decide where, and how well guarded, it is sent. */
const waysOfLogins: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(
    drivers.flatMap(({ fields }) =>
      Object.entries(fields).flatMap(([name, { secret }]) => (secret ? [[name, secret.sentBy]] : [])),
    ),
  ),
  // of a volume target: CHAP
  auth_password: ['target_portal', 'target_portals', 'target_iqn', 'auth_method'],
};

/**
 * Whoever may write an address but only sees `******` must not have the secret sent to a machine of their own: to another
 * place goes only a secret that is written again. Pure.
 * @param document `driver_info`, `properties`: as errors name it
 * @param after with what was kept in place of `******`
 * @throws AppError `invalid_argument` naming what changes and the secret that must come along.
 */
export function requireLoginForNewAddress(
  document: string,
  after: Readonly<Record<string, unknown>>,
  before: Readonly<Record<string, unknown>>,
): void {
  const isSame = (key: string): boolean => JSON.stringify(after[key] ?? null) === JSON.stringify(before[key] ?? null);
  for (const [secret, ways] of Object.entries(waysOfLogins)) {
    // each sealing of the same text is another one: what is equal was not written
    const isKept = (after[secret] ?? null) !== null && isSame(secret);
    const moved = isKept ? ways.filter((key) => !isSame(key)) : [];
    if (moved.length === 0) continue;
    throw new AppError(
      'invalid_argument',
      `${document}: ${moved.join(', ')} decides where ${secret} is sent, and secrets are not shown: write ${document}/${secret} ` +
        'again in the same patch.',
    );
  }
}
