import { findSecrets } from '#conductor/model/secret-names.ts';
import type { SiteFault } from '#conductor/model/site/site-report.ts';
import { dataSchema, namesThereAre } from '#conductor/sites/documents/schema-faults.ts';
import { usedSchemas } from '#conductor/sites/documents/yaml/upload-faults.ts';
import { documentOf, isEncrypted, isMapping, type SiteDocument } from '#conductor/sites/site.ts';

/** Schemas that belong to an Airship site and are other programs' business. */
const othersSchemas =
  /^(armada|deckhand|pegleg|promenade|divingbell|nc|metadata)\/\w+\/v\d+(\.\d+)?$|^drydock\/(Rack|Region|BootAction)\/v1$|^shipyard\/DeploymentVersion\/v1$/;

/** The document that rendering works by. */
const layeringPolicy = 'deckhand/LayeringPolicy/v1';

/** A Warning for each schema with a document that has a secret in clear: others' documents are kept as they are. */
function plainSecrets(documents: readonly SiteDocument[]): SiteFault[] {
  const found = documents.find(
    (each) => !isEncrypted(each) && isMapping(each.data) && findSecrets(each.data, { most: 1 }).length > 0,
  );
  if (!found) return [];
  const message =
    'has a secret in clear, which everyone who may read the site sees; `storagePolicy: encrypted` in its metadata hides it';
  return [{ level: 'Warning', name: 'PlainSecret', message, document: documentOf(found) }];
}

/**
 * One fault for each schema that Baton does nothing with: Info for Airship's own, a Warning for what nobody knows.
 * @param written all of the site's, abstract ones too: what they take values from is used
 */
export function unusedDocuments(
  bySchema: ReadonlyMap<string, ReadonlyMap<string, SiteDocument>>,
  written: readonly SiteDocument[],
): SiteFault[] {
  const sources = findSources(written);
  return [...bySchema].flatMap(([schema, byName]): SiteFault[] => {
    if (usedSchemas.has(schema) || schema === dataSchema || schema === layeringPolicy) return [];
    const all = [...byName.values()];
    const secrets = plainSecrets(all);
    const documents = all.filter(({ name }) => !sources.has(`${schema}/${name}`));
    const [first] = documents;
    if (!first) return secrets;
    const document = documentOf(first);
    const count = documents.length === 1 ? 'a document' : `${documents.length} documents`;
    if (othersSchemas.test(schema)) {
      const message = `${count} of schema ${schema}: kept under revision, and not used by Baton`;
      return [{ level: 'Info', name: 'NotUsed', message, document }, ...secrets];
    }
    const message = `${count} of schema ${schema}, which Baton does not know${namesThereAre(schema, [...usedSchemas])}`;
    return [{ level: 'Warning', name: 'UnknownSchema', message, document, path: 'schema' }, ...secrets];
  });
}

/** Documents of which others take values: `deckhand/Passphrase/v1/bmc`. */
function findSources(documents: readonly SiteDocument[]): ReadonlySet<string> {
  const taken = documents.flatMap(({ metadata: { substitutions } }) =>
    Array.isArray(substitutions) ? substitutions : [],
  );
  return new Set(
    taken.flatMap((each) => {
      const src = isMapping(each) ? each['src'] : undefined;
      return isMapping(src) ? [`${String(src['schema'])}/${String(src['name'])}`] : [];
    }),
  );
}
