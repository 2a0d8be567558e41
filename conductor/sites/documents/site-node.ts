import type { DriverDefinition } from '#conductor/drivers/driver-definition.ts';
import { drivers } from '#conductor/drivers/table/driver-table.ts';
import { parseImageChecksum } from '#conductor/model/image-checksum.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import type { SiteFault } from '#conductor/model/site/site-report.ts';
import { nodeNameFault } from '#conductor/nodes/node-fields.ts';
import type { DrydockDocuments, HardwareProfile } from '#conductor/sites/documents/drydock-documents.ts';
import { type NodeDesign, oobTypes } from '#conductor/sites/documents/node-design.ts';
import type { Report } from '#conductor/sites/documents/report-fault.ts';
import { fieldFault } from '#conductor/sites/documents/schema-faults.ts';
import { siteNetworkData } from '#conductor/sites/documents/site-network-data.ts';
import { sitePorts } from '#conductor/sites/documents/site-ports.ts';
import type { InService, SiteDocument, SiteNode } from '#conductor/sites/site.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { isOciSource } from '#shared/oci/reference.ts';

/** Any microversion that knows all characters of a node's name. */
const nameVersion = 10;

/**
 * A node as its document and the profiles beneath it (`mergeDesigns`) have it. Pure. With faults it is as good as it can
 * be: selectors choose by its name, tags, labels and rack all the same.
 */
export function readSiteNode(
  {
    document,
    design: merged,
    drydock,
  }: { readonly document: SiteDocument; readonly design: NodeDesign; readonly drydock: DrydockDocuments },
  faults: SiteFault[],
): SiteNode {
  const profile = drydock.hardware.get(merged.hardware_profile ?? '');
  const design = profile ? withHardware(merged, profile) : merged;
  const report: Report = (path, message, name, level) => {
    faults.push(fieldFault(document, path, message, name, level));
  };
  const badName = nodeNameFault(document.name, nameVersion);
  if (badName !== undefined) report(['metadata', 'name'], `can't be a node's: ${badName}`, 'InvalidValue');
  const metadata = design.metadata ?? {};
  const tags = metadata.tags ?? [];
  if (tags.includes('*'))
    report(['data', 'metadata', 'tags'], 'has "*", which means all nodes to plugins', 'InvalidValue');
  const instanceInfo = instanceInfoOf(design, drydock, report);
  const bios = Object.entries(design.bios_settings ?? {}).map(([name, value]) => ({ name, value: String(value) }));
  const raid = present(design.storage?.raid);
  const configDrive = configDriveOf(design, drydock, report);
  return {
    name: document.name,
    ...(metadata.rack ? { rack: metadata.rack } : {}),
    tags,
    labels: labelsOf(metadata.owner_data),
    resourceClass: design.resource_class ?? 'baremetal',
    ...driverInfoOf(design, report),
    properties: propertiesOf(design, profile, report),
    ports: sitePorts(design, report),
    ...(raid ? { targetRaid: raid } : {}),
    ...(bios.length > 0 ? { biosSettings: bios } : {}),
    traits: design.traits ?? [],
    ...(design.conductor_group ? { conductorGroup: design.conductor_group } : {}),
    ...(instanceInfo ? { instanceInfo } : {}),
    ...(configDrive ? { configDrive } : {}),
    ...(design.in_service ? { inService: inServiceOf(design.in_service) } : {}),
  };
}

/** Adds what the hardware's kind says to the design; the node's own goes first. */
function withHardware(design: NodeDesign, { boot_mode: mode, bios_settings: settings }: HardwareProfile): NodeDesign {
  return {
    ...design,
    ...(mode && !design.boot_mode ? { boot_mode: mode } : {}),
    ...(settings ? { bios_settings: { ...settings, ...design.bios_settings } } : {}),
  };
}

/** With the addresses that documents give, unless its own `network_data` says it. */
function configDriveOf(design: NodeDesign, drydock: DrydockDocuments, report: Report): JsonObject | undefined {
  const own = present(design.config_drive);
  if (own?.network_data !== undefined) return own;
  const networkData = siteNetworkData(design, drydock, report);
  return networkData ? { ...own, network_data: networkData } : own;
}

/** Marks (`"!"`) are gone from merged designs; the type does not say so. */
function present<T>(value: T | '!' | null | undefined): T | undefined {
  return value === '!' ? undefined : (value ?? undefined);
}

function inServiceOf({ kubernetes, ping, tcp, http }: NonNullable<NodeDesign['in_service']>): InService {
  const answers = { ping: present(ping), tcp: present(tcp), http: present(http) };
  return {
    ...(typeof kubernetes === 'boolean' ? { kubernetes } : {}),
    answers: Object.entries(answers).flatMap(([by, target]) =>
      target === undefined ? [] : [{ by: by as keyof typeof answers, target }],
    ),
  };
}

function labelsOf(ownerData: Readonly<Record<string, string | null>> | null | undefined): Record<string, string> {
  return Object.fromEntries(
    Object.entries(ownerData ?? {}).flatMap(([key, value]) => (value === null ? [] : [[key, value]])),
  );
}

/** Ironic's; the rack stands there for allocations' affinity, too (`node-words.ts`). */
function propertiesOf(design: NodeDesign, profile: HardwareProfile | undefined, report: Report): JsonObject {
  const rootDevice = present(design.storage?.root_device) ?? rootByName(design, profile, report);
  const rack = design.metadata?.rack;
  return {
    ...(design.boot_mode ? { capabilities: `boot_mode:${design.boot_mode}` } : {}),
    ...(rootDevice ? { root_device: rootDevice } : {}),
    ...(rack ? { rack } : {}),
  };
}

/** Names that the kernel gives disks; anything else is an alias that a HardwareProfile explains. */
const kernelName = /^(\/dev\/)?((sd|vd|hd|xvd)[a-z]+|nvme\d+n\d+|mmcblk\d+|md\d+|dm-\d+)$/;

/** The device of Drydock's `physical_devices` that the system goes to. */
function bootDevice(design: NodeDesign): { readonly name: string; readonly isAlias: boolean } | undefined {
  const found = Object.entries(design.storage?.physical_devices ?? {}).find(
    ([, device]) =>
      /^true$/i.test(String(device?.labels?.['bootdrive'])) ||
      device?.partitions?.some((partition) => mountPoint(partition['filesystem']) === '/'),
  );
  return found && { name: found[0], isAlias: !kernelName.test(found[0]) };
}

function mountPoint(filesystem: unknown): unknown {
  return typeof filesystem === 'object' && filesystem !== null ? Reflect.get(filesystem, 'mountpoint') : undefined;
}

function rootByName(design: NodeDesign, profile: HardwareProfile | undefined, report: Report): JsonObject | undefined {
  const device = bootDevice(design);
  if (!device) return undefined;
  if (device.isAlias) {
    const { address, bus_type: bus } = profile?.device_aliases?.[device.name] ?? {};
    // Drydock's `2:0.0.0`, the kernel's `2:0:0:0`
    if (bus === 'scsi' && address && /^\d+:\d+\.\d+\.\d+$/.test(address)) return { hctl: address.replaceAll('.', ':') };
    const message =
      "is neither a kernel's name of a disk nor a scsi device of its hardware_profile: say which disk it is with storage.root_device, such as {serial: …}";
    report(['data', 'storage', 'physical_devices', device.name], message, 'NotHonoured', 'Warning');
    return undefined;
  }
  return { name: device.name.startsWith('/dev/') ? device.name : `/dev/${device.name}` };
}

/** Image and checksum as `buildImageInfo` takes them. */
function instanceInfoOf(
  { platform: given }: NodeDesign,
  { images }: DrydockDocuments,
  report: Report,
): JsonObject | undefined {
  const named = images.get(given?.image ?? '');
  const platform = named ? { ...given, ...named } : given;
  const image = platform?.image;
  if (image && !/^(?:https?:|oci:\/\/)/i.test(image)) {
    const message = `is ${image}, which no baton/Images/v1 explains: until one does, such a node fails before anything of it is touched`;
    report(['data', 'platform', 'image'], message, 'UnknownImage', 'Warning');
    return undefined;
  }
  if (!image) {
    const message = 'is missing, here and in its profiles: such a node fails before anything of it is touched';
    report(['data', 'platform', 'image'], message, 'NoImage', 'Warning');
    return undefined;
  }
  const { checksum } = platform;
  if (isOciSource(image)) return inRegistry(image, platform);
  if (!checksum) {
    const message = 'is missing: the image needs one, such as "sha256:" and 64 hexadecimal digits';
    report(['data', 'platform', 'checksum'], message, 'MissingField');
    return { image_source: image };
  }
  const parsed = parseImageChecksum(checksum);
  const isQcow2 = /^[^?#]*\.qcow2($|[?#])/i.test(image);
  return {
    image_source: image,
    image_disk_format: platform.image_format ?? (isQcow2 ? 'qcow2' : 'raw'),
    ...(parsed && 'hex' in parsed
      ? { image_os_hash_algo: parsed.algorithm, image_os_hash_value: parsed.hex }
      : { image_checksum: checksum }),
  };
}

/** Describes an image in a registry, which has a digest of its own, and whose file says its format. */
function inRegistry(image: string, platform: NonNullable<NodeDesign['platform']>): JsonObject {
  const { checksum, image_format: format } = platform;
  return {
    image_source: image,
    ...(format ? { image_disk_format: format } : {}),
    ...(checksum ? { image_checksum: checksum } : {}),
  };
}

const general: ReadonlySet<string> = new Set(['type', 'network', 'account', 'credential', 'address']);

/** How the node's BMC is reached. */
function driverInfoOf(
  design: NodeDesign,
  report: Report,
): Pick<SiteNode, 'driver' | 'driverInfo' | 'credential' | 'login'> {
  const oob = design.oob ?? {};
  const type = oob.type ?? '';
  const driver = drivers.find(({ site }) => site.types.includes(type));
  if (driver === undefined) {
    report(['data', 'oob', 'type'], `is missing, here and in its profiles: it must be ${oobTypes}`, 'MissingField');
    return { driver: '', driverInfo: {} };
  }
  const address = oob.address ?? addressIn(design, oob.network);
  const keys = new Map(Object.entries(driver.fields).flatMap(([key, { site }]) => (site ? [[site.name, key]] : [])));
  const driverInfo: JsonObject = {};
  for (const [field, value] of Object.entries({ ...oob, address })) {
    const key = keys.get(field);
    if (value === undefined || value === null) continue;
    if (key !== undefined) driverInfo[key] = value;
    else if (!general.has(field)) {
      const right = [...keys.keys()].join(', ');
      report(
        ['data', 'oob', field],
        `is nothing that type ${type} has; it has ${right} and credential`,
        'InvalidValue',
      );
    }
  }
  const login = loginOf(oob, report);
  if (driver.bmc) checkReach(driverInfo, { driver, hasLogin: oob.credential != null, address }, report);
  return { driver: driver.name, driverInfo, ...login };
}

/** A credential by its name, or Drydock's account with a password that was substituted. */
function loginOf(
  { account, credential }: NonNullable<NodeDesign['oob']>,
  report: Report,
): Pick<SiteNode, 'credential' | 'login'> {
  if (credential === undefined || credential === null) return {};
  if (typeof credential === 'string') {
    if (account) {
      const message = `is not used: user and password are those of the stored credential ${credential}`;
      report(['data', 'oob', 'account'], message, 'NotHonoured', 'Warning');
    }
    return { credential };
  }
  if (account) return { login: { username: account, password: credential.password } };
  report(['data', 'oob', 'account'], 'is missing: the user that the password in credential is of', 'MissingField');
  return {};
}

function checkReach(
  driverInfo: JsonObject,
  { driver, hasLogin, address }: { driver: DriverDefinition; hasLogin: boolean; address: string | undefined },
  report: Report,
): void {
  if (!hasLogin) {
    const message = 'is missing: the BMC will be called without user and password';
    report(['data', 'oob', 'credential'], message, 'NoCredential', 'Warning');
  }
  if (address === undefined) {
    const message = "is missing: the BMC's address, here or in addressing for the network that oob.network names";
    report(['data', 'oob', 'address'], message, 'MissingField');
    return;
  }
  try {
    driver.site.check?.(driverInfo);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    report(['data', 'oob'], `can't be used: ${error.message}`, 'InvalidValue');
  }
}

/** Drydock's way to say where the BMC is. */
function addressIn(design: NodeDesign, network: string | null | undefined): string | undefined {
  if (!network) return undefined;
  return design.addressing?.find((each) => each.network === network)?.address;
}
