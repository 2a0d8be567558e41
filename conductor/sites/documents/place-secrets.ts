import type { SiteFault } from '#conductor/model/site-fault.ts';
import { fieldFault } from '#conductor/sites/documents/schema-faults.ts';
import { usedSchemas } from '#conductor/sites/documents/upload-faults.ts';
import { maskedPaths } from '#conductor/sites/rendering/mask-encrypted.ts';
import { isMapping, type SiteDocument } from '#conductor/sites/site-document.ts';

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
