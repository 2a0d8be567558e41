import { AppError } from '#shared/errors/app-error.ts';

const bsdLine = /^[A-Za-z0-9-]+\s*\((?<name>.+)\)\s*=\s*(?<hex>[0-9a-fA-F]+)$/;
const gnuLine = /^(?<hex>[0-9a-fA-F]{32,128})\s+[* ]?(?<name>\S.*)$/;
const bareValue = /^[0-9a-fA-F]{32,128}$/;

/**
 * The digest of an image in a checksum file: one bare value, or `sha256sum` lines, or BSD lines
 * (`SHA256 (name) = hex`); `#` starts a comment. A name matches as a whole, with or without `./` in front.
 * @throws AppError `image_error` when none of `names` is listed.
 */
export function findChecksum(text: string, names: readonly string[]): string {
  const lines = text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));
  const [only] = lines;
  if (lines.length === 1 && only !== undefined && bareValue.test(only)) return only;
  for (const line of lines) {
    const groups = (bsdLine.exec(line) ?? gnuLine.exec(line))?.groups;
    const name = groups?.['name']?.trim().replace(/^\.\//, '');
    if (groups?.['hex'] !== undefined && name !== undefined && names.includes(name)) return groups['hex'];
  }
  throw new AppError('image_error', `the checksum file does not list ${names.join(' or ')}`);
}
