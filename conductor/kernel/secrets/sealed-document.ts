import { isSealed, looksSealed, type Secrets } from '#conductor/kernel/secrets/secrets.ts';
import { isSecretPlace, mapDocument, type Place } from '#conductor/model/secret-names.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { mapUrlLogins } from '#shared/url-logins.ts';

type Document = Readonly<Record<string, unknown>>;

/** `node <uuid> driver_info`: whose document it is, and which. */
export type DocumentPlace = `${string} ${string}`;

interface SealOptions {
  /** BIOS settings that are known to be passwords, whatever their names. */
  readonly secretSettings?: ReadonlySet<string>;
}

/**
 * Makes the document with its secrets sealed where they stand: values under secret keys whole, of any type, and logins of
 * URLs. What is sealed already stays.
 */
export function sealDocument(
  secrets: Secrets,
  document: Document,
  place: DocumentPlace,
  options: SealOptions = {},
): Record<string, unknown> {
  return mapDocument(document, '', (value, at) => {
    if (value === null || value === undefined) return value;
    const where = `${place}.${at.path}`;
    if (isSecretPlace(at, options.secretSettings)) {
      return isSealed(value) ? value : secrets.seal(JSON.stringify(value), where);
    }
    if (typeof value === 'string') {
      return mapUrlLogins(value, (login) => (isSealed(login) ? login : secrets.seal(login, where)));
    }
    return typeof value === 'object' ? undefined : value;
  });
}

/**
 * The same for what an operator has written.
 * @param before the document that it takes the place of, whose sealed values may come back where they were
 * @throws AppError `invalid_argument` for any other text that begins as sealed values do.
 */
export function sealWritten(
  secrets: Secrets,
  document: Document,
  place: DocumentPlace,
  { before = {}, ...options }: SealOptions & { readonly before?: Document } = {},
): Record<string, unknown> {
  requireUnsealedTexts(document, place.slice(place.lastIndexOf(' ') + 1), before);
  return sealDocument(secrets, document, place, options);
}

/** @throws AppError `invalid_argument` naming the value that nobody but Baton can have written there. */
export function requireUnsealedTexts(document: Document, field: string, before: Document = {}): void {
  const known = new Set<string>();
  eachSealedText(before, (text, { path }) => known.add(`${path} ${text}`));
  eachSealedText(document, (text, { path }) => {
    if (known.has(`${path} ${text}`)) return;
    throw new AppError(
      'invalid_argument',
      `${field}.${path}: a value must not begin with 'sealed:', as those do that Baton has sealed.`,
    );
  });
}

/** @throws AppError `invalid_argument` naming the place, and the key that is missing. */
export function openDocument(secrets: Secrets, document: Document, place: DocumentPlace): Record<string, unknown> {
  return mapDocument(document, '', (value, at) => {
    if (typeof value === 'string') return openText(secrets, value, `${place}.${at.path}`);
    return typeof value === 'object' && value !== null ? undefined : value;
  });
}

/**
 * Seals values again with the first key where another key has sealed them, or none.
 * @param onClosed called for each value whose key is missing, which stays as it is
 */
export function resealDocument(
  secrets: Secrets,
  document: Document,
  place: DocumentPlace,
  onClosed: (error: AppError) => void,
): Record<string, unknown> {
  const current = mapDocument(document, '', (value, at) => {
    if (typeof value !== 'string') return typeof value === 'object' && value !== null ? undefined : value;
    const where = `${place}.${at.path}`;
    const again = (sealed: string): string => resealText(secrets, sealed, where, onClosed);
    return isSealed(value) ? again(value) : mapUrlLogins(value, (login) => (isSealed(login) ? again(login) : login));
  });
  return sealDocument(secrets, current, place);
}

/** The same for a value that is a column of its own. */
export function resealText(secrets: Secrets, text: string, place: string, onClosed: (error: AppError) => void): string {
  if (!isSealed(text)) return secrets.seal(text, place);
  if (text.startsWith(secrets.prefix)) return text;
  try {
    return secrets.seal(secrets.open(text, place), place);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    onClosed(error);
    return text;
  }
}

/**
 * Returns all secrets of a document, in clear, so that they can be distinguished from harmless words (`mask-document.ts`).
 * Those whose key is missing are left out: nobody was sent them.
 */
export function secretTexts(secrets: Secrets, document: Document, place: DocumentPlace): string[] {
  const texts: string[] = [];
  eachSealedText(document, (text, at) => {
    const where = `${place}.${at.path}`;
    try {
      texts.push(...textsOf(secrets, text, where));
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
    }
  });
  return texts;
}

function textsOf(secrets: Secrets, text: string, where: string): string[] {
  if (isSealed(text)) return stringsOf(JSON.parse(secrets.open(text, where)));
  const texts: string[] = [];
  mapUrlLogins(text, (login) => {
    const opened = isSealed(login) ? secrets.open(login, where) : login;
    texts.push(opened, opened.slice(opened.indexOf(':') + 1));
    return login;
  });
  return texts;
}

/** Returns all texts and numbers in a value. Pure. */
export function stringsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value === 'number') return [String(value)];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(stringsOf) : [];
}

function openText(secrets: Secrets, text: string, where: string): unknown {
  if (!looksSealed(text)) return text;
  if (isSealed(text)) return JSON.parse(secrets.open(text, where));
  return mapUrlLogins(text, (login) => (isSealed(login) ? secrets.open(login, where) : login));
}

function eachSealedText(document: Document, act: (text: string, place: Place) => void): void {
  mapDocument(document, '', (value, place) => {
    if (typeof value === 'string' && looksSealed(value)) act(value, place);
    return typeof value === 'object' && value !== null ? undefined : value;
  });
}
