import { readBmcAddress } from '#conductor/cli/import/bmc-address.ts';
import { type Fleet, type FleetNode, given, listIn, objectIn, textIn } from '#conductor/cli/import/fleet.ts';
import { type Manifests, namesOf, namespaceOf } from '#conductor/cli/import/read-manifests.ts';
import type { Json } from '#conductor/cli/shell/api-client.ts';
import { usageError } from '#conductor/cli/shell/command.ts';

/** States of a host in which its own system runs (baremetal-operator, apis/metal3.io/v1alpha1). */
const runningStates = new Set(['provisioned', 'externally provisioned']);
/** States in which metal3 has seen the BMC's power, and nothing of the host's is under way. */
const restingStates = new Set(['available', 'ready', 'match profile']);
/** States in which metal3 has the machine at work: it boots, gets RAID or BIOS settings, is written or cleaned. */
const busyStates = new Set(
  'inspecting,preparing,provisioning,deprovisioning,powering off before delete,deleting'.split(','),
);

/**
 * Reads BareMetalHosts and the Secrets of their BMCs. Pure but for the files that have been read.
 * @throws AppError `invalid_argument` where there is no BareMetalHost
 */
export function readMetal3({ objects, login }: Manifests): Fleet {
  const hosts = objects.filter(({ kind }) => kind === 'BareMetalHost');
  if (hosts.length === 0) throw usageError('there is no BareMetalHost in it (kubectl get bmh,secret -A -o yaml)');
  const names = namesOf(hosts);
  return {
    source: 'metal3',
    nodes: hosts.map((host, index) => readHost(host, names[index] ?? '', login)),
    left: describeOthers(objects),
  };
}

function readHost(host: Json, name: string, login: Manifests['login']): FleetNode {
  const spec = objectIn(host, 'spec');
  const state = textIn(host, 'status', 'provisioning', 'state') ?? '';
  const isExternal = spec['externallyProvisioned'] === true;
  const secret = textIn(spec, 'bmc', 'credentialsName');
  const account = login(secret, namespaceOf(host));
  const bmc = readBmcAddress({
    address: textIn(spec, 'bmc', 'address') ?? '',
    username: account.username,
    password: account.password,
    isUnverified: objectIn(spec, 'bmc')['disableCertificateVerification'] === true,
  });
  const busy = busyStates.has(state) ? `it is ${state} there: let that end, or abort it` : undefined;
  const refused = typeof bmc === 'string' ? bmc : busy;
  const goal = isExternal || runningStates.has(state) ? 'active' : restingStates.has(state) ? 'manageable' : 'enroll';
  return {
    name,
    driver: typeof bmc === 'string' ? 'none' : bmc.driver,
    fields: given({
      ...(typeof bmc === 'string' ? {} : bmc),
      name,
      uuid: textIn(host, 'status', 'provisioning', 'ID'),
      description: textIn(spec, 'description'),
      properties: readProperties(host),
      extra: readExtra(host),
      instance_info: goal === 'active' ? readInstance(host) : undefined,
      automated_clean: textIn(spec, 'automatedCleaningMode') === 'disabled' ? false : undefined,
    }),
    traits: [],
    ports: readPorts(host),
    portgroups: [],
    stateThere: isExternal && state === '' ? 'externally provisioned' : state,
    goal,
    left: [
      ...(secret !== undefined && account.password === undefined
        ? [`the BMC's login (Secret ${secret} is missing)`]
        : []),
      ...describeRest(spec),
    ],
    ...(refused === undefined ? {} : { refused }),
  };
}

function readProperties(host: Json): Json {
  const mode = textIn(host, 'spec', 'bootMode');
  const capabilities = [
    mode === undefined ? undefined : `boot_mode:${mode.toLowerCase().startsWith('uefi') ? 'uefi' : 'bios'}`,
    mode === 'UEFISecureBoot' ? 'secure_boot:true' : undefined,
  ].filter((each) => each !== undefined);
  const root = readRootHints(objectIn(host, 'spec', 'rootDeviceHints'));
  return given({
    cpu_arch: textIn(host, 'spec', 'architecture') ?? textIn(host, 'status', 'hardware', 'cpu', 'arch'),
    capabilities: capabilities.length === 0 ? undefined : capabilities.join(','),
    root_device: Object.keys(root).length === 0 ? undefined : root,
  });
}

/** Translates hints as baremetal-operator does for Ironic (pkg/provisioner/ironic/devicehints). */
function readRootHints(hints: Json): Json {
  const is = (key: string, operator: string): string | undefined => {
    const value = textIn(hints, key);
    return value === undefined ? undefined : `${operator} ${value}`;
  };
  return given({
    name: is('deviceName', 's=='),
    hctl: is('hctl', 's=='),
    model: is('model', '<in>'),
    vendor: is('vendor', '<in>'),
    serial: is('serialNumber', 's=='),
    size: is('minSizeGigabytes', '>='),
    wwn: is('wwn', 's=='),
    wwn_with_extension: is('wwnWithExtension', 's=='),
    wwn_vendor_extension: is('wwnVendorExtension', 's=='),
    rotational: typeof hints['rotational'] === 'boolean' ? hints['rotational'] : undefined,
  });
}

function readExtra(host: Json): Json {
  const labels = objectIn(host, 'metadata', 'labels');
  return given({ labels: Object.keys(labels).length === 0 ? undefined : labels });
}

function readInstance(host: Json): Json {
  const image = { ...objectIn(host, 'spec', 'image'), ...objectIn(host, 'status', 'provisioning', 'image') };
  const checksum = textIn(image, 'checksum');
  const kind = textIn(image, 'checksumType');
  const isDigest = checksum !== undefined && /^[0-9a-f]+$/i.test(checksum);
  const named = isDigest && (kind === 'sha256' || kind === 'sha512');
  return given({
    image_source: textIn(image, 'url'),
    ...(named ? { image_os_hash_algo: kind, image_os_hash_value: checksum } : { image_checksum: checksum }),
    display_name: textIn(host, 'spec', 'consumerRef', 'name'),
  });
}

function readPorts(host: Json): FleetNode['ports'] {
  const boot = textIn(host, 'spec', 'bootMACAddress')?.toLowerCase();
  const seen = listIn(host, 'status', 'hardware', 'nics').flatMap((nic) => textIn(nic, 'mac')?.toLowerCase() ?? []);
  const addresses = [...new Set([...(boot === undefined ? [] : [boot]), ...seen])];
  return addresses.map((address) => ({
    address,
    portgroup: undefined,
    fields: { address, pxe_enabled: boot === undefined || address === boot },
  }));
}

/** Names what a BareMetalHost has and a node has no place for. */
function describeRest(spec: Json): string[] {
  const unused: readonly (readonly [string, string])[] = [
    ['userData', 'userData (give it with the next deploy, --config-drive)'],
    ['networkData', 'networkData (network_data of the node)'],
    ['metaData', 'metaData (give it with the next deploy, --config-drive)'],
    ['preprovisioningNetworkDataName', 'preprovisioningNetworkDataName (network_data of the node)'],
    ['raid', 'raid (baton node raid set)'],
    ['firmware', 'firmware (steps bios.apply_configuration)'],
    ['taints', 'taints'],
  ];
  return unused.flatMap(([key, words]) => (spec[key] === undefined ? [] : [words]));
}

function describeOthers(objects: readonly Json[]): string[] {
  const known = new Set(['BareMetalHost', 'Secret']);
  const kinds = Map.groupBy(
    objects.filter(({ kind }) => !known.has(String(kind))),
    ({ kind }) => String(kind),
  );
  return [...kinds].map(([kind, all]) => `${all.length} ${kind}: not read`);
}
