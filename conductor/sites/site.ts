import type { EtcdCluster } from '#conductor/cluster/etcd/etcd-cluster.ts';
import type { InstanceAnswer } from '#conductor/model/flows/flow-states.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import type { SiteDefaults } from '#conductor/model/site/action-parameters.ts';
import type { SiteFault } from '#conductor/model/site/site-report.ts';
import type { PhaseTimeouts, Strategy } from '#conductor/model/site/site-run.ts';

export interface SiteDocument {
  /** Collection of its upload. */
  readonly collection: string;
  /** `drydock/BaremetalNode/v1` */
  readonly schema: string;
  /** `metadata.name`; alone within its schema. */
  readonly name: string;
  readonly metadata: JsonObject;
  /** `undefined` where the document has none. */
  readonly data: unknown;
  /** Sealed data of a document with secrets as it is stored; `data`, or the password in it, is a digest then. */
  readonly sealed?: string;
}

/**
 * An uploaded document (`parseDocuments` has checked it) as a site's.
 * What is neither text nor mapping where it should be becomes empty, so that `readSite` can name the fault.
 */
export function siteDocument(collection: string, document: JsonObject): SiteDocument {
  const metadata = isMapping(document['metadata']) ? document['metadata'] : {};
  const { name } = metadata;
  const { schema } = document;
  return {
    collection,
    schema: typeof schema === 'string' ? schema : '',
    name: typeof name === 'string' ? name : '',
    metadata,
    data: document['data'],
  };
}

/** Deckhand's whose `data` is a secret. Published sites have them in clear. */
const secretSchemas = /^deckhand\/(Passphrase|PrivateKey|CertificateKey|CertificateAuthorityKey)\/v1$/;

/** Nobody may see its data: Deckhand's way to say it, and what is a secret whatever it says. */
export function isEncrypted({ schema, metadata }: Pick<SiteDocument, 'schema' | 'metadata'>): boolean {
  return metadata['storagePolicy'] === 'encrypted' || secretSchemas.test(schema);
}

/** A BMC's password in a node's document, or a profile, as Drydock has it: beside its account. */
export function passwordIn({ schema, data }: Pick<SiteDocument, 'schema' | 'data'>): string | undefined {
  if (!/^drydock\/(BaremetalNode|HostProfile)\/v1$/.test(schema) || !isMapping(data) || !isMapping(data['oob']))
    return undefined;
  const { account, credential } = data['oob'];
  const isGiven = typeof account === 'string' && account !== '!' && typeof credential === 'string';
  return isGiven && credential !== '' && credential !== '!' ? credential : undefined;
}

/** Whether it is stored sealed, and shown without what it says. */
export function hasSecret(document: Pick<SiteDocument, 'schema' | 'metadata' | 'data'>): boolean {
  return isEncrypted(document) || passwordIn(document) !== undefined;
}

/** The same data with something else in its place. Pure. */
export function withPassword(data: unknown, credential: unknown): unknown {
  if (!isMapping(data) || !isMapping(data['oob'])) return data;
  return { ...data, oob: { ...data['oob'], credential } };
}

export function isMapping(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Computes the key that distinguishes documents of a revision, as Deckhand does: a replacement has the name of what it
 * replaces.
 */
export function documentKey({ schema, name, metadata }: Pick<SiteDocument, 'schema' | 'name' | 'metadata'>): string {
  const layering = metadata['layeringDefinition'];
  return JSON.stringify([schema, (isMapping(layering) ? layering['layer'] : undefined) ?? null, name]);
}

export function documentOf(document: SiteDocument): NonNullable<SiteFault['document']> {
  return { schema: document.schema, name: document.name, collection: document.collection };
}

/** A site as the documents of one revision describe it, checked and with profiles resolved. Plain values. */
export interface Site {
  /** By name, in the order of the documents. */
  readonly nodes: ReadonlyMap<string, SiteNode>;
  readonly strategy: Strategy;
  readonly timeouts: PhaseTimeouts;
  readonly settings: SiteSettings;
  /** Plugins whose tasks run in each deploy of a node that has one of the task's roles. */
  readonly plugins: readonly {
    readonly name: string;
    readonly version: string;
    /** `contentHash` of what was uploaded; absent where nobody knows. */
    readonly content?: string;
  }[];
  readonly etcdClusters: readonly EtcdCluster[];
}

/** Settings of `shipyard/DeploymentConfiguration/v1`, beside the groups' times; seconds. */
export interface SiteSettings {
  /** It has a section `kubernetes`: unless a node's document says otherwise, each node joins the cluster. */
  readonly nodesJoin: boolean;
  /** Added to `nodeStatusTimeout`: so long a node may take before its status is worth a look. */
  readonly joinWait: number;
  readonly nodeStatusTimeout: number;
  readonly nodeStatusInterval: number;
  /** Defaults of actions' parameters that are not given. */
  readonly actions: SiteDefaults;
  /** Times that the document says itself, by its own names: `join_wait`. */
  readonly stated?: Readonly<Record<string, number>>;
}

/** Conditions under which a node is in service, according to its document. */
export interface InService {
  /** Whether it joins the Kubernetes cluster; absent = it does if it was a member, or if the site's nodes do. */
  readonly kubernetes?: boolean;
  readonly answers: readonly InstanceAnswer[];
}

/** `drydock/BaremetalNode/v1` with its `drydock/HostProfile/v1` beneath. */
export interface SiteNode {
  /** Name of the document; becomes the node's name, its allocation's, and its host name. */
  readonly name: string;
  readonly rack?: string;
  /** Tags that selectors choose by, and the roles of plugin tasks. */
  readonly tags: readonly string[];
  /** `owner_data` of Drydock. */
  readonly labels: Readonly<Record<string, string>>;
  readonly resourceClass: string;
  readonly driver: string;
  /** Without user and password: those come from the credential of that name. */
  readonly driverInfo: JsonObject;
  readonly credential?: string;
  /** In its place, in clear: Drydock's account, with a password of an encrypted document. */
  readonly login?: { readonly username: string; readonly password: string };
  /** Ironic's: `boot_mode`, `capabilities`, `root_device`. */
  readonly properties: JsonObject;
  readonly ports: readonly SitePort[];
  /** RAID configuration as in `PUT states/raid`. */
  readonly targetRaid?: JsonObject;
  /** For `bios.apply_configuration`. */
  readonly biosSettings?: readonly { readonly name: string; readonly value: string }[];
  readonly traits: readonly string[];
  readonly conductorGroup?: string;
  /** `instance_info` of its deploy: image and checksum. Absent = nothing says what to deploy; validation warns. */
  readonly instanceInfo?: JsonObject;
  /** Ironic's dict `{meta_data, network_data, user_data}`. */
  readonly configDrive?: JsonObject;
  readonly inService?: InService;
}

export interface SitePort {
  /** In small letters. */
  readonly address: string;
  readonly pxeEnabled: boolean;
  readonly localLinkConnection?: JsonObject;
  readonly physicalNetwork?: string;
  /** Network (`networks.yaml`) that it joins once deployed: the VIF. */
  readonly network?: string;
}
