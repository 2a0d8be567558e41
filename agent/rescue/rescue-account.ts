import { encrypt } from 'unixcrypt';
import { AppError } from '#shared/errors/app-error.ts';

/** Who may log in to a machine under rescue; as in Ironic's ramdisks. */
export const rescueUser = 'rescue';

/** In `/etc/passwd`: another name of root's, for repairing a system takes all rights. */
export const passwdLine = `${rescueUser}:x:0:0:rescue:/root:/bin/sh`;

/**
 * In `/etc/shadow`.
 * @param password as the conductor sent it: hashed by crypt(3), or in the clear
 * @throws AppError `invalid_argument` for what is no hash, so that nobody is left before a login that takes no password
 */
export function shadowLine(password: string, hashed: boolean): string {
  return `${rescueUser}:${hashed ? checkedHash(password) : encrypt(checkedText(password))}:::::::`;
}

/** The files' text with our line at its end, and none that an earlier rescue of this boot has left. */
export function withLine(text: string, line: string): string {
  const others = text.split('\n').filter((each) => each !== '' && !each.startsWith(`${rescueUser}:`));
  return `${[...others, line].join('\n')}\n`;
}

function checkedHash(password: string): string {
  if (/^\$(5|6|y|2[aby])\$[./A-Za-z0-9$=,]{20,}$/.test(password)) return password;
  throw new AppError(
    'invalid_argument',
    'rescue_password: with hashed it must be a hash of crypt(3), $6$…, $5$…, $y$… or $2b$…',
  );
}

function checkedText(password: string): string {
  if (password !== '' && !/[\0\n]/.test(password)) return password;
  throw new AppError('invalid_argument', 'rescue_password: it must not be empty or contain a line break or NUL');
}
