import type { SiteFault } from '#conductor/model/site/site-report.ts';
import { fieldFault } from '#conductor/sites/documents/schema-faults.ts';
import { usedSchemas } from '#conductor/sites/documents/yaml/upload-faults.ts';
import { maskedPaths } from '#conductor/sites/rendering/mask-encrypted.ts';
import { isEncrypted, isMapping, passwordIn, type SiteDocument } from '#conductor/sites/site.ts';

const ofNodes: ReadonlySet<string> = new Set(['drydock/BaremetalNode/v1', 'drydock/HostProfile/v1']);
const password = 'oob.credential';
const mayBeSecret: ReadonlySet<string> = new Set([password, 'config_drive.user_data']);

/**
 * A document that is worked from, with what has come to it from encrypted ones where Baton keeps it secret: a BMC's
 * password as such, user data as it is; elsewhere it is an Error, since Baton would show it. Pure.
 * @param shown its data as all may see it
 * @param names what documents have beside an account and is the name of a stored credential, which it stays
 */
export function placeSecrets(
  document: SiteDocument,
  { shown, names }: { readonly shown: unknown; readonly names: ReadonlySet<string> },
  faults: SiteFault[],
): SiteDocument {
  if (!usedSchemas.has(document.schema)) return document;
  const paths = maskedPaths(document.data, shown);
  for (const path of paths) {
    if (ofNodes.has(document.schema) && mayBeSecret.has(path)) continue;
    const rule =
      'has a value of an encrypted document, which Baton would show from there: of nodes only oob.credential (with oob.account) and config_drive.user_data are kept secret';
    faults.push(fieldFault(document, ['data', ...path.split('.')], rule, 'SecretPlace'));
  }
  const { data } = document;
  if (!paths.includes(password) || !isMapping(data) || !isMapping(data['oob'])) return document;
  const { oob } = data;
  if (typeof oob['credential'] === 'string' && names.has(oob['credential'])) return document;
  return { ...document, data: { ...data, oob: { ...oob, credential: { password: oob['credential'] } } } };
}

const files = 'the file that it came from still has it in clear';

/**
 * A Warning for each schema with secrets that are kept sealed although the document does not ask for it. Pure.
 * @param names of stored credentials, which are not passwords
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
