import { isSealed } from '#conductor/kernel/secrets/secrets.ts';
import { isSecretPlace } from '#conductor/model/secret-names.ts';
import { AppError, errorChain, errorCode, faultOf, inSituation, isRetryable } from '#shared/errors/app-error.ts';
import { type Hide, mask } from '#shared/secret-words.ts';
import { maskUrlLogins } from '#shared/url-logins.ts';

/** Returns the document as it may be shown: secrets, at any depth, as `******`, sealed or not; nothing is opened for it. */
export function maskDocument(
  document: Readonly<Record<string, unknown>>,
  secretSettings?: ReadonlySet<string>,
): Record<string, unknown> {
  return maskObject(document, undefined, secretSettings);
}

/** Lists of nodes show thousands of documents: no more is made here than what is shown. */
function maskObject(
  within: Readonly<Record<string, unknown>>,
  list: string | undefined,
  secretSettings: ReadonlySet<string> | undefined,
): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(within).map(([key, value]) => [
      key,
      isSecretPlace({ key, within, list }, secretSettings) ? mask : maskValue(value, key, secretSettings),
    ]),
  );
}

function maskValue(value: unknown, key: string, secretSettings: ReadonlySet<string> | undefined): unknown {
  if (typeof value === 'string') return isSealed(value) ? mask : maskUrlLogins(value);
  if (typeof value !== 'object' || value === null) return value;
  if (!Array.isArray(value)) return maskObject(value as Record<string, unknown>, undefined, secretSettings);
  return value.map((entry: unknown) =>
    typeof entry === 'object' && entry !== null && !Array.isArray(entry)
      ? maskObject(entry as Record<string, unknown>, key, secretSettings)
      : maskValue(entry, key, secretSettings),
  );
}

/**
 * Returns the document with what it had before in place of `******`: a client that read that and wrote it back did not mean
 * to change the secret. Entries of lists are identified by their places.
 */
export function keepMasked(
  after: Readonly<Record<string, unknown>>,
  before: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(after).map(([key, value]) => [key, Object.hasOwn(before, key) ? kept(value, before[key]) : value]),
  );
}

function kept(after: unknown, before: unknown): unknown {
  if (typeof after === 'string') {
    const isShown =
      after === mask || (typeof before === 'string' && after.includes(mask) && after === maskUrlLogins(before));
    return isShown ? before : after;
  }
  if (typeof after !== 'object' || after === null || typeof before !== 'object' || before === null) return after;
  if (Array.isArray(after)) {
    const entries: readonly unknown[] = Array.isArray(before) ? before : [];
    return after.map((entry: unknown, index) => (index < entries.length ? kept(entry, entries[index]) : entry));
  }
  return Array.isArray(before)
    ? after
    : keepMasked(after as Record<string, unknown>, before as Record<string, unknown>);
}

/** Returns the same error, or one of the same code in its place where some layer of it repeats a secret. */
export function errorWithout(hide: Hide, error: unknown): unknown {
  const chain = errorChain(error);
  const masked = hide(chain);
  if (masked === chain) return error;
  const details = error instanceof AppError ? error.details : {};
  const same = new AppError(errorCode(error), masked, { retryable: isRetryable(error), details });
  const { code, subject } = faultOf(error);
  return inSituation(same, { code, subject: subject === undefined ? undefined : hide(subject) });
}

/** Returns the value with the texts in it, at any depth, without secrets. */
export function valueWithout(hide: Hide, value: unknown): unknown {
  if (typeof value === 'string') return hide(value);
  if (Array.isArray(value)) return value.map((each: unknown) => valueWithout(hide, each));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, valueWithout(hide, inner)]));
}
