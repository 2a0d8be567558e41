import { describe, expect, test } from 'vitest';
import { drivers } from '#conductor/drivers/table/driver-table.ts';
import { oobTypes } from '#conductor/sites/documents/node-design.ts';
import { faultText, goodNode, readText, yamlOf } from '#conductor/sites/documents/testing/read-text.ts';

const node = (data: string, name = 'n1') => yamlOf('drydock/BaremetalNode/v1', name, data);
/** Fields that a new driver adds to, so that snapshots need not know it. */
const oobFields = drivers
  .flatMap(({ fields }) => Object.values(fields).flatMap(({ site }) => site?.name ?? []))
  .filter((name, index, names) => name !== 'address' && names.indexOf(name) === index)
  .join(', ');
const faultTexts = (text: string) =>
  readText(text).faults.map((fault) =>
    faultText(fault).replace(oobTypes, 'OOB_TYPES').replace(oobFields, 'OOB_FIELDS'),
  );

test('what oob.type may be is said in words', () => {
  expect(oobTypes).toMatch(/^redfish, idrac, ipmi(, | or )fake/);
  expect(oobFields).toMatch(/^system_id, verify_ca, auth_type, port, cipher_suite, priv_level, fake_id/);
});
const one = (data: string) => readText(goodNode(data)).site?.nodes.get('n1');

test('a node with all that there is', () => {
  const { site, faults } = readText(
    node(`
oob: {type: redfish, address: 'https://192.0.2.1', system_id: /redfish/v1/Systems/1, credential: bmc, verify_ca: false, auth_type: session}
metadata: {rack: rack01, tags: [compute], owner_data: {zone: a}, boot_mac: 52-54-00-00-00-0A}
interfaces:
  eth0:
    mac: 52:54:00:00:00:0a
    switch_port: {switch_id: '00:11', port_id: Ethernet1, switch_info: leaf1}
    physical_network: physnet1
    networks: [tenant]
  eth1: {mac: '52:54:00:00:00:0B'}
storage:
  root_device: {serial: S1}
  raid: {logical_disks: [{size_gb: MAX, raid_level: '1', controller: software}]}
platform: {image: 'http://images/a.raw', checksum: 'SHA512:${'A'.repeat(128)}', image_format: qcow2}
boot_mode: uefi
resource_class: compute
conductor_group: rack01
traits: [CUSTOM_GPU]
bios_settings: {ProcVirtualization: Enabled, Cores: 8, Quiet: true}
config_drive: {user_data: '#cloud-config', meta_data: {a: 1}}
`),
  );
  expect(faults.map(({ name }) => name)).toEqual(['ReadableByAll']);
  expect(site?.nodes.get('n1')).toEqual({
    name: 'n1',
    rack: 'rack01',
    tags: ['compute'],
    labels: { zone: 'a' },
    resourceClass: 'compute',
    driver: 'redfish',
    driverInfo: {
      redfish_address: 'https://192.0.2.1',
      redfish_system_id: '/redfish/v1/Systems/1',
      redfish_verify_ca: false,
      redfish_auth_type: 'session',
    },
    credential: 'bmc',
    properties: { capabilities: 'boot_mode:uefi', root_device: { serial: 'S1' }, rack: 'rack01' },
    ports: [
      {
        address: '52:54:00:00:00:0a',
        pxeEnabled: true,
        localLinkConnection: { switch_id: '00:11', port_id: 'Ethernet1', switch_info: 'leaf1' },
        physicalNetwork: 'physnet1',
        network: 'tenant',
      },
      { address: '52:54:00:00:00:0b', pxeEnabled: false },
    ],
    targetRaid: { logical_disks: [{ size_gb: 'MAX', raid_level: '1', controller: 'software' }] },
    biosSettings: [
      { name: 'ProcVirtualization', value: 'Enabled' },
      { name: 'Cores', value: '8' },
      { name: 'Quiet', value: 'true' },
    ],
    traits: ['CUSTOM_GPU'],
    conductorGroup: 'rack01',
    instanceInfo: {
      image_source: 'http://images/a.raw',
      image_disk_format: 'qcow2',
      image_os_hash_algo: 'sha512',
      image_os_hash_value: 'a'.repeat(128),
    },
    configDrive: { user_data: '#cloud-config', meta_data: { a: 1 } },
  });
});

describe('out-of-band management', () => {
  test('IPMI, its address where Drydock has it', () => {
    const { site } = readText(
      node(`oob: {type: ipmi, network: oob, credential: bmc, port: 6230, cipher_suite: 3, priv_level: operator}
addressing: [{network: pxe, address: dhcp}, {network: oob, address: 192.0.2.9}]
metadata: {boot_mac: '52:54:00:00:00:01'}`),
    );
    expect(site?.nodes.get('n1')).toMatchObject({
      driver: 'ipmi',
      driverInfo: { ipmi_address: '192.0.2.9', ipmi_port: 6230, ipmi_cipher_suite: 3, ipmi_priv_level: 'operator' },
    });
  });

  test('the fake machine needs neither address nor credential', () => {
    const { site } = readText(node(`oob: {type: fake, fake_id: a}\nmetadata: {boot_mac: '52:54:00:00:00:01'}`));
    expect(site?.nodes.get('n1')).toMatchObject({ driver: 'fake-hardware', driverInfo: { fake_id: 'a' } });
  });

  test('each fault with its message', () => {
    const rest = `metadata: {boot_mac: '52:54:00:00:00:01'}\nplatform: {image: 'http://i', checksum: 'http://i.sha256'}`;
    const oobs = [
      '{}',
      '{type: libvirt}',
      '{type: redfish, credential: a}',
      '{type: redfish, address: 192.0.2.1}',
      '{type: redfish, credential: a, address: "https://192.0.2.1/x", auth_type: digest, port: 443}',
      '{type: ipmi, credential: a, address: -h, port: 70000, priv_level: ROOT, system_id: x}',
    ];
    expect(oobs.flatMap((oob) => faultTexts(node(`oob: ${oob}\n${rest}`)))).toMatchInlineSnapshot(`
      [
        "Error MissingField BaremetalNode n1 data.oob.type: type is missing, here and in its profiles: it must be OOB_TYPES",
        "Error InvalidValue BaremetalNode n1 data.oob.type: type must be OOB_TYPES (given: "libvirt")",
        "Error MissingField BaremetalNode n1 data.oob.address: address is missing: the BMC's address, here or in addressing for the network that oob.network names",
        "Warning NoCredential BaremetalNode n1 data.oob.credential: credential is missing: the BMC will be called without user and password",
        "Error InvalidValue BaremetalNode n1 data.oob.port: port is nothing that type redfish has; it has address, system_id, verify_ca, auth_type and credential",
        "Error InvalidValue BaremetalNode n1 data.oob: oob can't be used: driver_info for redfish: redfish_address: must be scheme and authority, such as https://192.0.2.1; redfish_auth_type: must be basic, session or auto",
        "Error InvalidValue BaremetalNode n1 data.oob.system_id: system_id is nothing that type ipmi has; it has address, port, cipher_suite, priv_level and credential",
        "Error InvalidValue BaremetalNode n1 data.oob: oob can't be used: driver_info for ipmi: ipmi_address: must be an IP address or hostname, without scheme and port (ipmi_port); ipmi_port: must be a whole number from 1 to 65535; ipmi_priv_level: must be one of ADMINISTRATOR, CALLBACK, OPERATOR, USER",
      ]
    `);
  });
});

describe('ports', () => {
  const interfaces = (text: string, metadata = '{}') =>
    `oob: {type: redfish, address: 192.0.2.1, credential: bmc}\nplatform: {image: 'http://i', checksum: 'http://i.sha256'}\nmetadata: ${metadata}\ninterfaces: ${text}`;

  test('without boot_mac all boot from the network, with it that one, and pxe decides', () => {
    const pxe = (text: string, metadata?: string) =>
      readText(node(interfaces(text, metadata)))
        .site?.nodes.get('n1')
        ?.ports.map(({ pxeEnabled }) => pxeEnabled);
    const two = '{a: {mac: "52:54:00:00:00:01"}, b: {mac: "52:54:00:00:00:02"}}';
    expect(pxe(two)).toEqual([true, true]);
    expect(pxe(two, '{boot_mac: "52:54:00:00:00:02"}')).toEqual([false, true]);
    expect(pxe(two.replace(':01"', ':01", pxe: false'))).toEqual([false, true]);
    expect(pxe(two, '{boot_mac: "52:54:00:00:00:03"}')).toEqual([false, false, true]);
  });

  test('each fault with its message', () => {
    const texts = [
      interfaces('{}'),
      interfaces('{a: {networks: [x]}, b: {mac: "52:54:00:00:00:01"}}'),
      interfaces('{a: {mac: "52:54:00:00:00:01", pxe: false}}'),
      interfaces('{a: {mac: "52:54:00:00:00:01", pxe: false}}', '{boot_mac: "52:54:00:00:00:01"}'),
      interfaces('{a: {mac: "52:54:00:00:00:01", networks: [x, y]}}'),
      interfaces(
        '{a: {mac: "52:54:00:00:00:01", networks: [x]}, b: {mac: "52:54:00:00:00:02", networks: [x]}, c: {mac: "52:54:00:00:00:03"}, d: {mac: "52:54:00:00:00:04", networks: [y]}}',
      ),
    ];
    expect(texts.flatMap((text) => faultTexts(node(text)))).toMatchInlineSnapshot(`
      [
        "Warning NoBootPort BaremetalNode n1 data.interfaces: interfaces have no MAC address, nor has metadata.boot_mac: until they do, or somebody makes a port of the node, it fails before anything of it is touched",
        "Warning NotHonoured BaremetalNode n1 data.interfaces.a.mac: mac is missing: without it Baton makes no port of the interface",
        "Warning NoBootPort BaremetalNode n1 data.interfaces: interfaces have none that boots from the network: one of them needs pxe: true",
        "Error InvalidValue BaremetalNode n1 data.interfaces.a.pxe: pxe is false, and metadata.boot_mac is this interface: one of them must go",
        "Warning NoBootPort BaremetalNode n1 data.interfaces: interfaces have none that boots from the network: one of them needs pxe: true",
        "Error NotSupported BaremetalNode n1 data.interfaces.a.networks: networks are 2: say with device_link which network of the networks file carries them, keep one, or take inherited ones away with "!y"",
        "Error NotSupported BaremetalNode n1 data.interfaces: interfaces have 52:54:00:00:00:01 and 52:54:00:00:00:02 on x: where a node is on several networks, each takes one port",
      ]
    `);
  });
});

describe('disks and images', () => {
  test.each([
    ['sda: {labels: {bootdrive: true}}', { name: '/dev/sda' }],
    ['nvme0n1: {labels: {bootdrive: "true"}}, sda: {}', { name: '/dev/nvme0n1' }],
    ['/dev/vdb: {partitions: [{name: root, filesystem: {mountpoint: /}}]}', { name: '/dev/vdb' }],
    ['sda: {}', undefined],
    ['bootdisk: {labels: {bootdrive: true}}', undefined],
  ])('Drydock’s boot disk: %s', (devices, hints) => {
    expect(one(`storage: {physical_devices: {${devices}}}`)?.properties['root_device']).toEqual(hints);
  });

  test('the file’s ending tells the format, the checksum may be a file', () => {
    const image = (url: string) =>
      readText(
        goodNode().replace(/image: \S+,.*/, `image: '${url}', checksum: 'http://i/SHA256SUMS'}`),
      ).site?.nodes.get('n1')?.instanceInfo;
    expect(image('http://i/a.QCOW2?x=1')).toEqual({
      image_source: 'http://i/a.QCOW2?x=1',
      image_disk_format: 'qcow2',
      image_checksum: 'http://i/SHA256SUMS',
    });
    expect(image('http://i/a.img')).toMatchObject({ image_disk_format: 'raw' });
  });

  test('without checksum', () => {
    expect(faultTexts(goodNode().replace(/, checksum: [^}]*/, ''))).toMatchInlineSnapshot(`
      [
        "Error MissingField BaremetalNode n1 data.platform.checksum: checksum is missing: the image needs one, such as "sha256:" and 64 hexadecimal digits",
      ]
    `);
  });
});

test('each fault of form with its message', () => {
  expect(
    faultTexts(
      node(`
host_profile: 3
oob: {type: libvirt, adress: x, port: a}
interfaces: {e: {mac: zz, networks: tenant, switch_port: {switch_id: 1}, pxe: 1}, f: []}
storage: {root_device: {sise: 3}, raid: {logical_disks: []}}
platform: {image: "file:///xenial", checksum: abc, image_format: vmdk}
metadata: {tags: a, owner_data: {a: 1}, rack: 3, boot_mac: q, label: x}
boot_mode: legacy
traits: [foo]
bios_settings: {a: [1]}
config_drive: {meta_data: 1, userdata: x}
addressing: [{network: a}]
`),
    ),
  ).toMatchInlineSnapshot(`
    [
      "Error InvalidValue BaremetalNode n1 data.host_profile: host_profile must be text: put it into quotes (given: 3)",
      "Error InvalidValue BaremetalNode n1 data.oob.type: type must be OOB_TYPES (given: "libvirt")",
      "Error InvalidValue BaremetalNode n1 data.oob.port: port must be a whole number (given: "a")",
      "Error UnknownField BaremetalNode n1 data.oob.adress: adress is not known here; did you mean address?; there are type, network, address, account, credential, OOB_FIELDS",
      "Error InvalidValue BaremetalNode n1 data.interfaces.e.mac: mac must be a MAC address, such as "52:54:00:12:34:56" (given: "zz")",
      "Error InvalidValue BaremetalNode n1 data.interfaces.e.switch_port.switch_id: switch_id must be text: put it into quotes (given: 1)",
      "Error InvalidValue BaremetalNode n1 data.interfaces.e.switch_port.port_id: port_id is missing; it must be text",
      "Error InvalidValue BaremetalNode n1 data.interfaces.e.pxe: pxe must be true or false (given: 1)",
      "Error InvalidValue BaremetalNode n1 data.interfaces.e.networks: networks must be a list of networks (given: "tenant")",
      "Error InvalidValue BaremetalNode n1 data.interfaces.f: f must be a mapping",
      "Error InvalidValue BaremetalNode n1 data.storage.root_device: root_device is wrong: root device hint root_device.sise is not a known hint; hints are size, rotational, model, vendor, serial, wwn, wwn_with_extension, wwn_vendor_extension, name, hctl, by_path, tran",
      "Error InvalidValue BaremetalNode n1 data.storage.raid: raid is wrong: it can't be used: logical_disks must have at least one logical disk",
      "Error InvalidValue BaremetalNode n1 data.platform.image: image must be an http:// or https:// URL (a file below BATON_IMAGES_DIR is http://CONDUCTOR:6385/images/FILE), oci://registry/repository:tag, or a name that a baton/Images/v1 explains (given: "file:///xenial")",
      "Error InvalidValue BaremetalNode n1 data.platform.checksum: checksum must be sha256: and 64 hexadecimal digits, sha512: and 128, the digits alone, or the URL of a checksum file (given: "abc")",
      "Error InvalidValue BaremetalNode n1 data.platform.image_format: image_format must be one of raw, qcow2, gpt (given: "vmdk")",
      "Error InvalidValue BaremetalNode n1 data.metadata.tags: tags must be a list of tags (given: "a")",
      "Error InvalidValue BaremetalNode n1 data.metadata.owner_data.a: a must be text: put it into quotes (given: 1)",
      "Error InvalidValue BaremetalNode n1 data.metadata.rack: rack must be text: put it into quotes (given: 3)",
      "Error InvalidValue BaremetalNode n1 data.metadata.boot_mac: boot_mac must be a MAC address, such as "52:54:00:12:34:56" (given: "q")",
      "Error UnknownField BaremetalNode n1 data.metadata.label: label is not known here; there are tags, owner_data, rack, boot_mac",
      "Error InvalidValue BaremetalNode n1 data.boot_mode: boot_mode must be uefi or bios (given: "legacy")",
      "Error InvalidValue BaremetalNode n1 data.traits[0]: traits[0] must be CUSTOM_ and A-Z 0-9 _, or a standard trait (given: "foo")",
      "Error InvalidValue BaremetalNode n1 data.bios_settings.a: a must be text, a number, true or false",
      "Error InvalidValue BaremetalNode n1 data.config_drive.meta_data: meta_data must be an object",
      "Error UnknownField BaremetalNode n1 data.config_drive.userdata: userdata is not known here; did you mean user_data?; there are meta_data, network_data, user_data, vendor_data",
      "Error InvalidValue BaremetalNode n1 data.addressing[0].address: address is missing; it must be text",
    ]
  `);
});

test('names and tags that mean something else', () => {
  const named = ['detail', '5b6c3b0e-7f0e-4c43-9d4d-111111111111', 'a b'].flatMap((name) =>
    faultTexts(goodNode('', name)),
  );
  expect(named).toMatchInlineSnapshot(`
    [
      "Error InvalidValue BaremetalNode detail metadata.name: name can't be a node's: the word is reserved",
      "Error InvalidValue BaremetalNode 5b6c3b0e-7f0e-4c43-9d4d-111111111111 metadata.name: name can't be a node's: it must not look like a UUID",
      "Error InvalidValue BaremetalNode a b metadata.name: name can't be a node's: it must be 1 to 255 letters, digits and - . _ ~",
    ]
  `);
  expect(faultTexts(goodNode('metadata: {tags: ["*"]}'))).toMatchInlineSnapshot(`
    [
      "Error InvalidValue BaremetalNode n1 data.metadata.tags: tags has "*", which means all nodes to plugins",
    ]
  `);
});

test('what Drydock does and Baton does not', () => {
  expect(
    faultTexts(
      node(`
oob: {type: fake}
platform: {image: 'http://i', checksum: 'http://i.sha256', kernel: hwe, kernel_params: {a: b}}
interfaces: {b: {mac: '52:54:00:00:00:01', slaves: [a, b], sriov: {vf_count: 1}, device_link: x}}
storage: {physical_devices: {bootdisk: {labels: {bootdrive: true}, partitions: [{name: root}]}}, volume_groups: {a: {}}}
addressing: [{network: a, address: dhcp}]
primary_network: a
hardware_profile: b
`),
    ),
  ).toMatchInlineSnapshot(`
    [
      "Warning NotHonoured BaremetalNode n1 data.storage: storage has partitions or volume groups, which Baton does not make: the image brings its own",
      "Warning NotHonoured BaremetalNode n1 data.platform.kernel: kernel is not honoured: the image brings its kernel",
      "Warning NotHonoured BaremetalNode n1 data.platform.kernel_params: kernel_params is not honoured: the image has its own, and a plugin task may change them after the deploy",
      "Warning NotHonoured BaremetalNode n1 data.interfaces.b.sriov: sriov is not honoured: a plugin task may set it up",
      "Info NotHonoured BaremetalNode n1 data.interfaces.b.device_link: device_link is not used: there is no such drydock/NetworkLink/v1",
      "Warning NotHonoured BaremetalNode n1 data.addressing: addressing gives the deployed system no address in a: there is no such drydock/Network/v1",
      "Info NotHonoured BaremetalNode n1 data.primary_network: primary_network is not used: there is no such drydock/Network/v1",
      "Info NotHonoured BaremetalNode n1 data.hardware_profile: hardware_profile is not used: there is no such drydock/HardwareProfile/v1",
      "Warning NotHonoured BaremetalNode n1 data.storage.physical_devices.bootdisk: bootdisk is neither a kernel's name of a disk nor a scsi device of its hardware_profile: say which disk it is with storage.root_device, such as {serial: …}",
      "Warning NotHonoured BaremetalNode n1 data.interfaces.b.slaves: slaves do not become a bond: each must be an interface of the node with a mac, or config_drive.network_data says it all",
    ]
  `);
});
