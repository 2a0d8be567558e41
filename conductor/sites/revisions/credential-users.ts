import { usedSchemas } from '#conductor/sites/documents/upload-faults.ts';
import { renderLayers } from '#conductor/sites/rendering/render-layers.ts';
import { readRoles } from '#conductor/sites/revisions/read-roles.ts';
import { type DocumentReader, openRevisionDocuments } from '#conductor/sites/revisions/revision-store.ts';

/** Documents that name the credential, of what is committed and of the buffer; in order, each once. */
export async function findCredentialUsers(reader: DocumentReader, credential: string): Promise<string[]> {
  const roles = await readRoles(reader.db);
  const ids = new Set([roles.get('committed') ?? 0, roles.get('buffer') ?? 0]);
  const users = new Set<string>();
  for (const id of ids) {
    const written = await openRevisionDocuments(reader, id);
    // a name may come by layering or substitution
    for (const { schema, name, data } of [...written, ...renderLayers(written).documents]) {
      if (usedSchemas.has(schema) && names(data, credential)) users.add(`${schema}/${name}`);
    }
  }
  return [...users];
}

/** Whether `credential: NAME` stands anywhere in it. */
function names(value: unknown, credential: string): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(
    ([key, inner]) => (key === 'credential' && inner === credential) || names(inner, credential),
  );
}
