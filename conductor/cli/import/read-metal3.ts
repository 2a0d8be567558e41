import { readBmcAddress } from '#conductor/cli/import/bmc-address.ts';
import { type Fleet, type FleetNode, givenFields, listIn, objectIn, textIn } from '#conductor/cli/import/fleet.ts';
import { type FoundLogin, keyOf, type Manifests, namesOf, namespaceOf } from '#conductor/cli/import/read-manifests.ts';
import type { Json } from '#conductor/cli/shell/api-client.ts';
import { usageError } from '#conductor/cli/shell/usage-error.ts';
import { parseMacAddress } from '#shared/mac-address.ts';

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
  if (hosts.length === 0)
    throw usageError('there is no BareMetalHost in it (kubectl get bmh,hardwaredata,secret -A -o yaml)');
  const names = namesOf(hosts);
  // what newer releases have seen in a machine stands in an object of its own, by the host's name
  const seen = new Map(objects.filter(({ kind }) => kind === 'HardwareData').map((each) => [keyOf(each), each]));
  return {
    source: 'metal3',
    nodes: hosts.map((host, index) => {
      const secret = textIn(host, 'spec', 'bmc', 'credentialsName');
      const hardware = objectIn(seen.get(keyOf(host)), 'spec', 'hardware');
      const { nics = [] } = { ...objectIn(host, 'status', 'hardware'), ...hardware } as { nics?: unknown };
      const account = login(secret, namespaceOf(host));
      return readHost(host, names[index] ?? '', { account, nics: Array.isArray(nics) ? (nics as unknown[]) : [] });
    }),
    left: describeOthers(objects),
  };
}

interface Found {
  readonly account: FoundLogin;
  /** Network cards that an inspection has seen. */
  readonly nics: readonly unknown[];
}

function readHost(host: Json, name: string, { account, nics }: Found): FleetNode {
  const spec = objectIn(host, 'spec');
  const state = textIn(host, 'status', 'provisioning', 'state') ?? '';
  const isExternal = spec['externallyProvisioned'] === true;
  const bmc = readBmcAddress({
    address: textIn(spec, 'bmc', 'address') ?? '',
    field: 'spec.bmc.address',
    username: account.username,
    password: account.password,
    isUnverified: objectIn(spec, 'bmc')['disableCertificateVerification'] === true,
  });
  const isServicing = textIn(host, 'status', 'operationalStatus') === 'servicing';
  const busy = isServicing ? 'servicing' : busyStates.has(state) ? state : undefined;
  const refusals = [
    ...(typeof bmc === 'string' ? [bmc] : []),
    ...describeBadAddresses(spec),
    ...(busy === undefined ? [] : [`it is ${busy} there: let that end, or abort it`]),
  ];
  const goal = isExternal || runningStates.has(state) ? 'active' : restingStates.has(state) ? 'manageable' : 'enroll';
  return {
    name,
    driver: typeof bmc === 'string' ? 'none' : bmc.driver,
    fields: givenFields({
      ...(typeof bmc === 'string' ? {} : bmc),
      name,
      uuid: textIn(host, 'status', 'provisioning', 'ID'),
      description: textIn(spec, 'description'),
      properties: readProperties(host),
      extra: readExtra(host),
      ...(goal === 'active' ? readInstance(host) : {}),
      disable_power_off: spec['disablePowerOff'] === true ? true : undefined,
      automated_clean: textIn(spec, 'automatedCleaningMode') === 'disabled' ? false : undefined,
    }),
    traits: [],
    ports: readPorts(spec, nics),
    portgroups: [],
    stateThere: isExternal && state === '' ? 'externally provisioned' : state,
    goal,
    left: [
      ...(account.missing === undefined ? [] : [`the BMC's login (spec.bmc.credentialsName: ${account.missing})`]),
      ...describeRest(spec),
    ],
    ...(refusals.length === 0 ? {} : { refused: refusals.join(', ') }),
  };
}

function readProperties(host: Json): Json {
  const mode = textIn(host, 'spec', 'bootMode');
  const capabilities = [
    mode === undefined ? undefined : `boot_mode:${mode.toLowerCase().startsWith('uefi') ? 'uefi' : 'bios'}`,
    mode === 'UEFISecureBoot' ? 'secure_boot:true' : undefined,
  ].filter((each) => each !== undefined);
  const root = readRootHints(objectIn(host, 'spec', 'rootDeviceHints'));
  return givenFields({
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
  const device = is('deviceName', 's==');
  const isByPath = device?.includes('/dev/disk/by-path/') === true;
  return givenFields({
    [isByPath ? 'by_path' : 'name']: device,
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
  return givenFields({ labels: Object.keys(labels).length === 0 ? undefined : labels });
}

/** Reads the image that runs there; a live ISO is booted, not written. */
function readInstance(host: Json): Json {
  const image = { ...objectIn(host, 'spec', 'image'), ...objectIn(host, 'status', 'provisioning', 'image') };
  const name = textIn(host, 'spec', 'consumerRef', 'name');
  const format = textIn(image, 'format');
  if (format === 'live-iso') {
    return {
      deploy_interface: 'ramdisk',
      instance_info: givenFields({ boot_iso: textIn(image, 'url'), display_name: name }),
    };
  }
  const checksum = textIn(image, 'checksum');
  const kind = textIn(image, 'checksumType');
  const isDigest = checksum !== undefined && /^[0-9a-f]+$/i.test(checksum);
  const named = isDigest && (kind === 'sha256' || kind === 'sha512');
  return {
    instance_info: givenFields({
      image_source: textIn(image, 'url'),
      ...(named ? { image_os_hash_algo: kind, image_os_hash_value: checksum } : { image_checksum: checksum }),
      image_disk_format: format,
      display_name: name,
    }),
  };
}

function describeBadAddresses(spec: Json): string[] {
  const written = [
    ['spec.bootMACAddress', textIn(spec, 'bootMACAddress')],
    ...listIn(spec, 'networkInterfaces').map(
      (each, index) => [`spec.networkInterfaces[${index}].macAddress`, textIn(each, 'macAddress')] as const,
    ),
  ] as const;
  return written.flatMap(([field, address]) =>
    address === undefined || parseMacAddress(address) !== undefined ? [] : [`${field}: "${address}" is no MAC address`],
  );
}

/**
 * Makes a port of each card: the one that boots first, then those that the host names, then those that were seen. A switch
 * port that the host names counts more than the one that was heard by LLDP.
 */
function readPorts(spec: Json, nics: readonly unknown[]): FleetNode['ports'] {
  const macOf = (value: unknown, key: string): string | undefined => parseMacAddress(textIn(value, key) ?? '');
  const boot = macOf(spec, 'bootMACAddress');
  const seen = nics.flatMap((nic) => {
    const address = macOf(nic, 'mac');
    return address === undefined ? [] : [{ address, name: textIn(nic, 'name'), plug: objectIn(nic, 'lldp') }];
  });
  const described = listIn(spec, 'networkInterfaces').flatMap((each) => {
    const name = textIn(each, 'name');
    const address =
      macOf(each, 'macAddress') ?? (name === undefined ? undefined : seen.find((nic) => nic.name === name)?.address);
    return address === undefined ? [] : [{ address, plug: objectIn(each, 'switchPort') }];
  });
  const cards = [...described, ...seen];
  const addresses = new Set([...(boot === undefined ? [] : [boot]), ...cards.map(({ address }) => address)]);
  return [...addresses].map((address) => {
    const plugs = cards.filter((card) => card.address === address).map(({ plug }) => plug);
    const plug = plugs.find((each) => textIn(each, 'switchID') !== undefined && textIn(each, 'portID') !== undefined);
    const link = plug && { switch_id: textIn(plug, 'switchID')?.toLowerCase(), port_id: textIn(plug, 'portID') };
    return {
      address,
      portgroup: undefined,
      fields: {
        address,
        pxe_enabled: boot === undefined || address === boot,
        ...(link ? { local_link_connection: link } : {}),
      },
    };
  });
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
    ['customDeploy', 'customDeploy (steps of a deploy template)'],
    ['taints', 'taints'],
  ];
  return unused.flatMap(([key, words]) => (spec[key] === undefined ? [] : [words]));
}

function describeOthers(objects: readonly Json[]): string[] {
  const known = new Set(['BareMetalHost', 'HardwareData', 'Secret']);
  const kinds = Map.groupBy(
    objects.filter(({ kind }) => !known.has(String(kind))),
    ({ kind }) => String(kind),
  );
  return [...kinds].map(([kind, all]) => `${all.length} ${kind}: not read`);
}
