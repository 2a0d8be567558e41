import type { SiteFault } from '#conductor/model/site-fault.ts';
import { fieldFault } from '#conductor/sites/documents/schema-faults.ts';
import { isEncrypted, passwordIn, type SiteDocument } from '#conductor/sites/site-document.ts';

const files = 'the file that it came from still has it in clear';

/**
 * A Warning for each schema with secrets that are kept sealed although the document does not ask for it. Pure.
 * @param names of stored credentials, which are no passwords
 */
export function sealedUnasked(documents: readonly SiteDocument[], names: ReadonlySet<string>): SiteFault[] {
  const bySchema = Map.groupBy(
    documents.filter((each) => isEncrypted(each) && each.metadata['storagePolicy'] !== 'encrypted'),
    ({ schema }) => schema,
  );
  const whole = [...bySchema.values()].flatMap(([first, ...more]): SiteFault[] => {
    if (!first) return [];
    const which = more.length === 0 ? 'is cleartext' : `is cleartext, as that of ${more.length} more of its schema,`;
    const message = `${which} and data is a secret: Baton keeps it sealed, as with \`encrypted\`; ${files}`;
    return [fieldFault(first, ['metadata', 'storagePolicy'], message, 'SealedSecret', 'Warning')];
  });
  const withPasswords = documents.filter((each) => {
    const password = passwordIn(each);
    return password !== undefined && !names.has(password);
  });
  const passwords = withPasswords.map((each) => {
    const message = `is a password, which Baton keeps sealed; ${files}: substitute it from a deckhand/Passphrase/v1 with \`storagePolicy: encrypted\`, or store it by \`baton credential set NAME\``;
    return fieldFault(each, ['data', 'oob', 'credential'], message, 'SealedSecret', 'Warning');
  });
  return [...whole, ...passwords];
}
