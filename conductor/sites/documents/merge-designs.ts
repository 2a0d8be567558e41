import { NodeData, type NodeDesign, ProfileData } from '#conductor/sites/documents/node-design.ts';
import type { SiteDocument } from '#conductor/sites/site.ts';

/**
 * Drydock's inheritance, pure: what the child says holds; `"!"` takes away what is inherited; lists and mappings are
 * merged, and `!name` in them takes that one away; an interface or device that is null goes, too.
 * @param parent merged itself, without marks: what the child says nothing of is the parent's own value, not a copy
 */
export function mergeDesigns(child: NodeDesign, parent: NodeDesign): NodeDesign {
  return {
    ...(child.addressing ? { addressing: child.addressing } : {}),
    hardware_profile: inherit(child.hardware_profile, parent.hardware_profile),
    primary_network: inherit(child.primary_network, parent.primary_network),
    oob: mergeFields(child.oob, parent.oob),
    interfaces: mergeNamed(child.interfaces, parent.interfaces, (own, inherited) => ({
      ...mergeFields(own, inherited),
      networks: mergeLists(own.networks, inherited?.networks),
      slaves: mergeLists(own.slaves, inherited?.slaves),
      labels: mergeMappings(own.labels, inherited?.labels),
    })),
    storage: mergeStorage(child.storage, parent.storage),
    platform: mergePlatform(child.platform, parent.platform),
    metadata: mergeMetadata(child.metadata, parent.metadata),
    boot_mode: inherit(child.boot_mode, parent.boot_mode),
    resource_class: inherit(child.resource_class, parent.resource_class),
    conductor_group: inherit(child.conductor_group, parent.conductor_group),
    traits: mergeLists(child.traits, parent.traits),
    bios_settings: mergeMappings(child.bios_settings, parent.bios_settings),
    config_drive: mergeConfigDrive(child.config_drive, parent.config_drive),
    in_service: mergeFields(child.in_service, parent.in_service),
  };
}

type Maybe<T> = T | null | undefined;

function inherit<T>(own: Maybe<T>, inherited: Maybe<T>): T | undefined {
  if (own === '!') return undefined;
  return own ?? inherited ?? undefined;
}

/** Field by field; of fields that are lists or mappings themselves, the child's. */
function mergeFields<T extends object>(own: Maybe<T>, inherited: Maybe<T>): T | undefined {
  if (!own) return inherited ?? undefined;
  // the type says which of a design's fields there may be, and all of them may be absent
  const merged: Record<string, unknown> = { ...inherited };
  for (const [field, value] of Object.entries(own)) {
    if (value === '!') delete merged[field];
    else if (value !== null && value !== undefined) merged[field] = value;
  }
  return merged as T;
}

function mergeLists(own: Maybe<readonly string[]>, inherited: Maybe<readonly string[]>): string[] | undefined {
  if (!own) return inherited ? [...inherited] : undefined;
  const kept = own.filter((value) => !value.startsWith('!'));
  return [...kept, ...(inherited ?? []).filter((value) => !own.includes(`!${value}`) && !kept.includes(value))];
}

function mergeMappings<Value>(
  own: Maybe<Record<string, Value>>,
  inherited: Maybe<Record<string, Value>>,
): Record<string, Value> | undefined {
  return mergeNamed<Value>(own, inherited, (value) => value);
}

/** @param merge also what only the child has, so that its marks go */
function mergeNamed<Value>(
  own: Maybe<Record<string, Value | null>>,
  inherited: Maybe<Record<string, Value | null>>,
  merge: (own: Value, inherited: Value | undefined) => Value,
): Record<string, Value> | undefined {
  // what is inherited has no nulls any more; the type of documents' mappings does not say so
  if (!own) return (inherited ?? undefined) as Record<string, Value> | undefined;
  const merged = new Map<string, Value>();
  for (const [name, value] of Object.entries(inherited ?? {})) {
    if (value !== null && own[`!${name}`] === undefined) merged.set(name, value);
  }
  for (const [name, value] of Object.entries(own)) {
    if (value === null || value === '!') merged.delete(name);
    else if (!name.startsWith('!')) merged.set(name, merge(value, merged.get(name)));
  }
  return Object.fromEntries(merged);
}

function mergeStorage(own: NodeDesign['storage'], inherited: NodeDesign['storage']): NodeDesign['storage'] {
  if (!own) return inherited ?? undefined;
  return {
    physical_devices: mergeNamed(own.physical_devices, inherited?.physical_devices, (device, beneath) => ({
      ...beneath,
      ...device,
    })),
    volume_groups: mergeMappings(own.volume_groups, inherited?.volume_groups),
    // hints of both would all have to fit, and arrays of both would take each other's disks
    root_device: inherit(own.root_device, inherited?.root_device),
    raid: inherit(own.raid, inherited?.raid),
  };
}

/** Another image is not what the inherited checksum and format are of. */
function mergePlatform(own: NodeDesign['platform'], inherited: NodeDesign['platform']): NodeDesign['platform'] {
  if (!own) return inherited ?? undefined;
  const { image: _image, checksum: _checksum, image_format: _format, ...others } = inherited ?? {};
  const beneath = own.image ? others : (inherited ?? {});
  return {
    ...mergeFields(own, beneath),
    kernel_params: mergeMappings(own.kernel_params, inherited?.kernel_params),
  };
}

function mergeMetadata(own: NodeDesign['metadata'], inherited: NodeDesign['metadata']): NodeDesign['metadata'] {
  if (!own) return inherited ?? undefined;
  return {
    tags: mergeLists(own.tags, inherited?.tags),
    owner_data: mergeMappings(own.owner_data, inherited?.owner_data),
    rack: inherit(own.rack, inherited?.rack),
    boot_mac: inherit(own.boot_mac, inherited?.boot_mac),
  };
}

function mergeConfigDrive(
  own: NodeDesign['config_drive'],
  inherited: NodeDesign['config_drive'],
): NodeDesign['config_drive'] {
  if (own === '!') return undefined;
  const beneath = inherited === '!' ? undefined : inherited;
  if (!own) return beneath ?? undefined;
  return { ...mergeFields(own, beneath), meta_data: mergeMappings(own.meta_data, beneath?.meta_data) };
}

/**
 * Documents as they are worked from: each node's with what it has from its host profiles, and naming none any more; all
 * others as they are. Pure.
 * @param documents in which `readSite` has found no errors
 */
export function renderDocuments(documents: readonly SiteDocument[]): SiteDocument[] {
  const profiles = new Map<string, NodeDesign>();
  for (const { schema, name, data } of documents) {
    if (schema === 'drydock/HostProfile/v1') profiles.set(name, ProfileData.parse(data));
  }
  const beneath = ({ host_profile: name }: NodeDesign): NodeDesign => {
    const profile = typeof name === 'string' ? profiles.get(name) : undefined;
    return profile ? mergeDesigns(profile, beneath(profile)) : {};
  };
  return documents.map((document) => {
    if (document.schema !== 'drydock/BaremetalNode/v1') return document;
    const design = NodeData.parse(document.data);
    return { ...document, data: mergeDesigns(design, beneath(design)) };
  });
}
