import { namesThereAre } from '#conductor/sites/documents/schema-faults.ts';
import { documentOf, type SiteDocument } from '#conductor/sites/documents/site-document.ts';
import { usedSchemas } from '#conductor/sites/documents/upload-faults.ts';
import type { SiteFault } from '#conductor/sites/site-fault.ts';

/** What belongs to an Airship site and is other programs' business. */
const othersSchemas =
  /^(armada|deckhand|pegleg|promenade|divingbell|nc|metadata)\/\w+\/v\d+(\.\d+)?$|^drydock\/(Network|NetworkLink|Rack|Region|HardwareProfile|BootAction)\/v1$|^shipyard\/DeploymentVersion\/v1$/;

/** One fault for each schema that Baton does nothing with: Info for Airship's own, a Warning for what nobody knows. */
export function unusedDocuments(bySchema: ReadonlyMap<string, readonly SiteDocument[]>): SiteFault[] {
  return [...bySchema].flatMap(([schema, documents]): SiteFault[] => {
    const [first] = documents;
    if (usedSchemas.has(schema) || !first) return [];
    const document = documentOf(first);
    const count = documents.length === 1 ? 'a document' : `${documents.length} documents`;
    if (othersSchemas.test(schema)) {
      const message = `${count} of schema ${schema}: kept under revision, and not used by Baton`;
      return [{ level: 'Info', name: 'NotUsed', message, document }];
    }
    const message = `${count} of schema ${schema}, which Baton does not know${namesThereAre(schema, [...usedSchemas])}`;
    return [{ level: 'Warning', name: 'UnknownSchema', message, document, path: 'schema' }];
  });
}
