import type { SiteFault } from '#conductor/model/site/site-report.ts';
import type { Strategy } from '#conductor/model/site/site-run.ts';
import { checkGroups, checkNodes, type KnownToNodes } from '#conductor/sites/documents/check-site.ts';
import {
  defaultSettings,
  defaultTimeouts,
  readConfiguration,
  type SiteConfiguration,
} from '#conductor/sites/documents/configuration-document.ts';
import { placeSecrets, sealedUnasked } from '#conductor/sites/documents/document-secrets.ts';
import { readDrydockDocuments } from '#conductor/sites/documents/drydock-documents.ts';
import { readEtcdClusters } from '#conductor/sites/documents/etcd-clusters.ts';
import { type NamedPlugin, readPlugins } from '#conductor/sites/documents/plugin-documents.ts';
import { readNodes } from '#conductor/sites/documents/read-nodes.ts';
import {
  dataSchemaFaults,
  documentFault,
  fieldFault,
  namesThereAre,
  newSuggestNames,
} from '#conductor/sites/documents/schema-faults.ts';
import { defaultStrategy, readStrategy } from '#conductor/sites/documents/strategy-document.ts';
import { unusedDocuments } from '#conductor/sites/documents/unused-documents.ts';
import { uploadFaults, usedSchemas } from '#conductor/sites/documents/yaml/upload-faults.ts';
import { encryptedTexts, renderSite } from '#conductor/sites/rendering/mask-encrypted.ts';
import { documentOf, isMapping, passwordIn, type Site, type SiteDocument } from '#conductor/sites/site.ts';
import { hideSecrets } from '#shared/secret-words.ts';

/** So many documents are named for the same fault; what Baton does not do is reported once. */
const namedFor = ({ name }: SiteFault): number => (name === 'NotHonoured' ? 1 : 5);

/**
 * One line of a profile is a fault of each of its thousand nodes: the first few are reported, and how many more there are.
 * In the order in which they came. Pure.
 */
export function foldRepeats(faults: readonly SiteFault[]): SiteFault[] {
  const counts = new Map<string, number>();
  const keyOf = ({ level, name, message, rule = message, path, document }: SiteFault): string =>
    `${level}\n${name}\n${rule}\n${path ?? ''}\n${document?.schema ?? ''}`;
  for (const fault of faults) counts.set(keyOf(fault), (counts.get(keyOf(fault)) ?? 0) + 1);
  const seen = new Map<string, number>();
  return faults.flatMap((fault) => {
    const key = keyOf(fault);
    const place = (seen.get(key) ?? 0) + 1;
    seen.set(key, place);
    const all = counts.get(key) ?? 0;
    const most = namedFor(fault);
    // one more than that needs no counting
    if (place < most || all === most) return [fault];
    if (place > most) return [];
    const more = `${all - most} more ${all - most === 1 ? 'document' : 'documents'}`;
    return [{ ...fault, message: `${fault.message} (and the same in ${more})` }];
  });
}

/** Names that the documents may refer to beside each other. Those that aren't given aren't checked. */
export interface KnownToSite extends KnownToNodes {
  readonly plugins?: readonly NamedPlugin[];
}

export interface ReadSite {
  readonly site: Site | undefined;
  readonly faults: SiteFault[];
}

/** Seed 000, "Deployment Configuration Document". */
const standardStrategyName = 'deployment-strategy';
const standardConfigurationName = 'deployment-configuration';

/**
 * The site that a revision's documents describe, with everything that is wrong or worth knowing, each with its document,
 * path, and what would be right. Pure; 10,000 nodes in 200 groups take about a tenth of a second.
 * @returns no site when there is an Error among the faults
 */
export function readSite(documents: readonly SiteDocument[], known: KnownToSite = {}): ReadSite {
  const faults: SiteFault[] = [];
  const names = credentialNames(documents, known.credentials);
  const bySchema = sortDocuments(workedFrom(documents, names, faults), faults);
  const of = (schema: string): readonly SiteDocument[] => [...(bySchema.get(schema)?.values() ?? [])];
  faults.push(
    ...unusedDocuments(bySchema, documents),
    ...sealedUnasked(documents, names),
    ...dataSchemaFaults(bySchema),
  );
  const configuration = chooseConfiguration(of('shipyard/DeploymentConfiguration/v1'), faults);
  const chosen = chooseStrategy(of('shipyard/DeploymentStrategy/v1'), configuration, faults);
  const suggest = newSuggestNames();
  const read = readNodes(
    {
      nodes: bySchema.get('drydock/BaremetalNode/v1') ?? new Map(),
      profiles: of('drydock/HostProfile/v1'),
      drydock: readDrydockDocuments(of, faults),
    },
    suggest,
    faults,
  );
  checkNodes(read, known, suggest, faults);
  const plugins = readPlugins(of('baton/Plugin/v1'), known.plugins, suggest, faults);
  const nodeNames = new Set(read.documents.keys());
  const etcdClusters = readEtcdClusters(
    of('promenade/EtcdClusters/v1'),
    { credentials: known.credentials && new Set(known.credentials), nodes: nodeNames },
    suggest,
    faults,
  );
  const { strategy } = chosen;
  // of groups over nodes that could not be made out nothing true could be said
  if (strategy && chosen.document && read.complete) checkGroups(read, strategy, chosen.document, faults);
  if (nodeNames.size === 0) {
    const message = 'the site has no node: each is a document drydock/BaremetalNode/v1';
    faults.push({ level: 'Warning', name: 'NoNodes', message });
  }
  const faultTexts = foldRepeats(withoutSecrets(documents, names, faults));
  if (!strategy || faultTexts.some(({ level }) => level === 'Error')) return { site: undefined, faults: faultTexts };
  const { timeouts = defaultTimeouts, settings = defaultSettings } = configuration ?? {};
  return { site: { nodes: read.nodes, strategy, timeouts, settings, plugins, etcdClusters }, faults: faultTexts };
}

/** Names of stored credentials that stand beside an account where a password would: they mean these. */
function credentialNames(documents: readonly SiteDocument[], stored: readonly string[] = []): ReadonlySet<string> {
  const names = new Set(stored);
  return new Set(documents.flatMap((each) => passwordIn(each) ?? []).filter((text) => names.has(text)));
}

/**
 * The documents that are worked from. Of those that others use a fault is a Warning; what layering or substitution has
 * changed must keep the rules of an upload, or a secret would get where uploads may not have it: as everybody sees it,
 * since what comes of encrypted documents is seen by nobody.
 */
function workedFrom(
  documents: readonly SiteDocument[],
  names: ReadonlySet<string>,
  faults: SiteFault[],
): readonly SiteDocument[] {
  const rendered = renderSite(documents);
  faults.push(
    ...rendered.faults.map((fault): SiteFault => {
      return usedSchemas.has(fault.document?.schema ?? '') ? fault : { ...fault, level: 'Warning' };
    }),
  );
  const written = new Set(documents.map(({ data }) => data));
  for (const { schema, metadata, data } of rendered.shown) {
    if (written.has(data) || !usedSchemas.has(schema) || !isMapping(data)) continue;
    faults.push(...uploadFaults({ schema, metadata, data }, () => 'as rendered'));
  }
  if (rendered.shown === rendered.documents) return rendered.documents;
  return rendered.documents.map((document, index) =>
    placeSecrets(document, { shown: rendered.shown[index]?.data, names }, faults),
  );
}

/** Messages repeat what is wrong. */
function withoutSecrets(
  documents: readonly SiteDocument[],
  names: ReadonlySet<string>,
  faults: readonly SiteFault[],
): readonly SiteFault[] {
  const texts = encryptedTexts(documents).filter((text) => !names.has(text));
  if (texts.length === 0) return faults;
  const hide = hideSecrets(() => texts);
  return faults.map((fault) => ({
    ...fault,
    message: hide(fault.message),
    ...(fault.rule === undefined ? {} : { rule: hide(fault.rule) }),
  }));
}

/** By schema and name; of several with the same the first. */
function sortDocuments(
  documents: readonly SiteDocument[],
  faults: SiteFault[],
): ReadonlyMap<string, ReadonlyMap<string, SiteDocument>> {
  const bySchema = new Map<string, Map<string, SiteDocument>>();
  for (const document of documents) {
    const same = bySchema.get(document.schema) ?? new Map<string, SiteDocument>();
    bySchema.set(document.schema, same);
    const earlier = same.get(document.name);
    if (earlier) {
      const place = earlier.collection === document.collection ? 'this collection' : `collection ${earlier.collection}`;
      const message = `${document.name} is the name of a ${document.schema} in ${place} already; keep one of them`;
      faults.push(fieldFault(document, ['metadata', 'name'], message, 'DuplicateDocument'));
      continue;
    }
    same.set(document.name, document);
  }
  return bySchema;
}

/** All are checked; the one with the usual name holds, or the only one. */
function chooseConfiguration(documents: readonly SiteDocument[], faults: SiteFault[]): SiteConfiguration | undefined {
  const read = new Map(documents.map((document) => [document.name, readConfiguration(document, faults)]));
  const [only, another] = documents;
  if (only && another && !read.has(standardConfigurationName)) {
    const names = documents.map(({ name }) => name).join(', ');
    const message = `there are several documents ${only.schema} (${names}); the one that is to hold must be called ${standardConfigurationName}`;
    faults.push({ level: 'Error', name: 'AmbiguousConfiguration', message, document: documentOf(another) });
  }
  return read.get(standardConfigurationName) ?? read.get(only?.name ?? '');
}

/** The one that the configuration names, else the one with the usual name, else one group of all nodes. */
function chooseStrategy(
  documents: readonly SiteDocument[],
  configuration: SiteConfiguration | undefined,
  faults: SiteFault[],
): { readonly strategy: Strategy | undefined; readonly document?: SiteDocument } {
  const wanted = configuration?.strategy ?? standardStrategyName;
  const read = new Map(documents.map((document) => [document.name, readStrategy(document, faults)]));
  const document = documents.find(({ name }) => name === wanted);
  const others = documents.filter((each) => each !== document);
  if (document) {
    faults.push(
      ...others.map((other) =>
        documentFault(other, `the site is deployed by strategy ${wanted}, not by this one`, 'NotUsed', 'Info'),
      ),
    );
    return { strategy: read.get(wanted), document };
  }
  if (configuration?.strategy !== undefined) {
    const names = documents.map(({ name }) => name);
    const message = `physical_provisioner.deployment_strategy names ${wanted}, which is not a shipyard/DeploymentStrategy/v1${namesThereAre(wanted, names)}`;
    faults.push({
      level: 'Error',
      name: 'UnknownStrategy',
      message,
      document: configuration.document,
      path: 'data.physical_provisioner.deployment_strategy',
    });
    return { strategy: undefined };
  }
  for (const other of others) {
    const message = `the strategy is not called ${wanted}, and no DeploymentConfiguration names it: without it all nodes are one critical group`;
    faults.push(documentFault(other, message, 'NotUsed', 'Warning'));
  }
  return { strategy: defaultStrategy };
}
