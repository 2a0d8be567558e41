import type { Queryable } from '#conductor/db/open.ts';
import { isMapping, type SiteDocument } from '#conductor/sites/documents/site-document.ts';
import { readRoles } from '#conductor/sites/revisions/read-roles.ts';
import { listRevisionDocuments } from '#conductor/sites/revisions/revision-store.ts';

/** Documents that name the credential, of what is committed and of the buffer; in order, each once. */
export async function findCredentialUsers(db: Queryable, credential: string): Promise<string[]> {
  const roles = await readRoles(db);
  const ids = new Set([roles.get('committed') ?? 0, roles.get('buffer') ?? 0]);
  const users = new Set<string>();
  for (const id of ids) {
    const documents = await listRevisionDocuments(db, id);
    for (const document of documents) if (names(document, credential)) users.add(`${document.schema} ${document.name}`);
  }
  return [...users];
}

/** `data.oob.credential` of nodes and host profiles. */
function names({ schema, data }: SiteDocument, credential: string): boolean {
  if (!/^drydock\/(BaremetalNode|HostProfile)\/v1$/.test(schema) || !isMapping(data)) return false;
  const { oob } = data;
  return isMapping(oob) && oob['credential'] === credential;
}
