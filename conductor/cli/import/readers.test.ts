import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { readSecretsDatabase, readSecretsFile } from '#conductor/cli/import/ironic-secrets.ts';
import { parseCsv } from '#conductor/cli/import/parse-csv.ts';
import { describeMissingLogin, prepareFleet } from '#conductor/cli/import/prepare-fleet.ts';
import { readCsv } from '#conductor/cli/import/read-csv.ts';
import { readMaas } from '#conductor/cli/import/read-maas.ts';
import { readManifests } from '#conductor/cli/import/read-manifests.ts';
import { readMetal3 } from '#conductor/cli/import/read-metal3.ts';
import { readTinkerbell } from '#conductor/cli/import/read-tinkerbell.ts';

let directory = '';
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'baton-readers-'));
});
afterAll(() => rm(directory, { recursive: true }));
const write = async (name: string, text: string): Promise<string> => {
  const file = join(directory, name);
  await writeFile(file, text);
  return file;
};

describe('a table', () => {
  test('has quotes, line breaks in cells, comments, and semicolons too', () => {
    expect(parseCsv('a,b\n"x, ""y""\nz",2\r\n\n# no\nc,\n', 'f')).toEqual([
      ['a', 'b'],
      ['x, "y"\nz', '2'],
      ['c', ''],
    ]);
    expect(parseCsv('a;b\n1;2', 'f')).toEqual([
      ['a', 'b'],
      ['1', '2'],
    ]);
  });

  test.each([
    ['a,b\n"x,1\n', 'line 2: a quote is not closed'],
    ['a,b\n"x"y,1\n', 'line 2: something stands behind a closing quote'],
    ['a,b\n', 'column a: it is none of name'],
    ['name\n', 'it has no rows'],
    ['name,mac\nn1,1,2\n', 'row 2: it has 3 cells, and the first row 2'],
    ['name,port\nn1,Ethernet1\n', 'row 2: port: it goes with mac'],
    ['name,adopt\nn1,perhaps\n', 'adopt: it must be yes or no, not "perhaps"'],
  ])('%j is refused', (text, words) => {
    expect(() => readCsv(text, 'f.csv')).toThrow(words);
  });

  test('gives nodes; those without a BMC stay in enroll', () => {
    const { nodes } = readCsv(
      'name,driver,address,mac,mac2,adopt\nn1,ipmi,h,52-54-00-00-00-01,52:54:00:00:00:02,yes\nn2,,,,,\n',
      'f',
    );
    expect(nodes).toMatchObject([
      {
        name: 'n1',
        driver: 'ipmi',
        fields: { driver_info: { ipmi_address: 'h' } },
        goal: 'active',
        ports: [{ address: '52:54:00:00:00:01' }, {}],
      },
      { name: 'n2', driver: 'redfish', goal: 'enroll', ports: [] },
    ]);
  });
});

describe('hosts of metal3', () => {
  const host = (namespace: string, spec: object, status: object = {}) =>
    JSON.stringify({ kind: 'BareMetalHost', metadata: { name: 'h', namespace }, spec, status });

  test('are named apart, with ports as inspected and hints in their words', async () => {
    const bmc = { address: 'redfish://h/s', credentialsName: 'none' };
    const nics = [{ mac: '52:54:00:00:00:0A' }, { mac: '52:54:00:00:00:0b' }];
    const file = await write(
      'hosts.yaml',
      [
        host(
          'a',
          { bmc, bootMACAddress: '52:54:00:00:00:0b', rootDeviceHints: { serialNumber: 'S1', rotational: false } },
          { hardware: { nics } },
        ),
        host('b', { bmc: { address: 'ilo4://h' }, externallyProvisioned: true }),
      ].join('\n---\n'),
    );
    const { nodes } = readMetal3(await readManifests([file]));
    expect(nodes).toMatchObject([
      {
        name: 'a-h',
        goal: 'enroll',
        fields: { properties: { root_device: { serial: 's== S1', rotational: false } } },
        left: ["the BMC's login (spec.bmc.credentialsName: Secret a/none is not in it)"],
        ports: [
          { address: '52:54:00:00:00:0b', fields: { pxe_enabled: true } },
          { address: '52:54:00:00:00:0a', fields: { pxe_enabled: false } },
        ],
      },
      {
        name: 'b-h',
        goal: 'active',
        stateThere: 'externally provisioned',
        refused: expect.stringContaining('ilo4') as unknown,
      },
    ]);
  });

  test.each(['inspecting', 'preparing', 'provisioning', 'deprovisioning'])('are refused while %s', async (state) => {
    const status = { provisioning: { state } };
    const file = await write(`${state}.yaml`, host('a', { bmc: { address: 'redfish://h/s' } }, status));
    expect(readMetal3(await readManifests([file])).nodes[0]?.refused).toBe(
      `it is ${state} there: let that end, or abort it`,
    );
  });

  test('are missed in a file without any, or that is no YAML', async () => {
    const none = await write('none.yaml', 'kind: Secret\n');
    const login = () => ({ username: undefined, password: undefined, missing: undefined });
    expect(() => readMetal3({ objects: [], login })).toThrow('there is no BareMetalHost in it');
    expect((await readManifests([none])).objects).toHaveLength(1);
    await expect(readManifests([await write('bad.yaml', 'a: [1\n')])).rejects.toThrow('it must be JSON or YAML');
  });
});

describe('machines of MAAS', () => {
  const machine = (more: object) => ({
    system_id: 'abc',
    hostname: 'm1',
    status_name: 'Deployed',
    power_type: 'ipmi',
    architecture: 'amd64/generic',
    pool: { name: 'gold' },
    zone: { name: 'r1' },
    boot_interface: { mac_address: '52:54:00:00:00:0a' },
    interface_set: [
      { type: 'physical', mac_address: '52:54:00:00:00:0A' },
      { type: 'physical', mac_address: '52:54:00:00:00:0b' },
      { type: 'bond', mac_address: '52:54:00:00:00:0a' },
    ],
    ...more,
  });
  const power = JSON.stringify({ abc: { power_address: '192.0.2.9', power_user: 'u', power_pass: 'p', node_id: '1' } });
  const read = (more: object, parameters: string | undefined = power) =>
    readMaas(JSON.stringify([machine(more)]), parameters).nodes[0];

  test('that are deployed are adopted, with class, rack and physical ports', () => {
    expect(read({})).toMatchObject({
      name: 'm1',
      driver: 'ipmi',
      goal: 'active',
      left: [],
      fields: {
        driver_info: { ipmi_address: '192.0.2.9', ipmi_username: 'u', ipmi_password: 'p', ipmi_priv_level: 'OPERATOR' },
        resource_class: 'gold',
        properties: { cpu_arch: 'x86_64', rack: 'r1' },
      },
      ports: [{ fields: { pxe_enabled: true } }, { address: '52:54:00:00:00:0b', fields: { pxe_enabled: false } }],
    });
    expect(read({ power_type: 'redfish', status_name: 'Ready' })).toMatchObject({
      goal: 'manageable',
      fields: { driver_info: { redfish_address: 'https://192.0.2.9', redfish_system_id: '/redfish/v1/Systems/1' } },
    });
  });

  test('have BMCs with IPv6 addresses, and are protected where they are locked', () => {
    const at = JSON.stringify({ abc: { power_address: '2001:db8::9', power_user: 'u', power_pass: 'p' } });
    expect(read({ locked: true }, at)).toMatchObject({
      fields: { protected: true, driver_info: { ipmi_address: '2001:db8::9' } },
      left: [],
    });
    expect(read({ power_type: 'redfish' }, at)).toMatchObject({
      fields: { driver_info: { redfish_address: 'https://[2001:db8::9]' } },
    });
    expect(read({})?.fields).not.toHaveProperty('protected');
  });

  test('are refused amid a change or without a driver, and named without their login', () => {
    expect(read({ status_name: 'Deploying' })?.refused).toBe('it is Deploying there: let that end, or abort it');
    expect(read({ power_type: 'webhook' })?.refused).toBe(
      'power_type: Baton has no driver for webhook (it has ipmi, redfish)',
    );
    expect(read({}, '{}')?.left).toEqual(["the BMC's login (give --power that has its system_id)"]);
    expect(() => readMaas('{"a": 1}', undefined)).toThrow(
      'it must be the list that `maas PROFILE machines read` prints',
    );
  });
});

describe('Hardware of Tinkerbell', () => {
  const hardware = {
    kind: 'Hardware',
    metadata: { name: 'hw1', namespace: 'tink' },
    spec: {
      bmcRef: { kind: 'Machine', name: 'bmc1' },
      disks: [{ device: '/dev/nvme0n1' }],
      interfaces: [{ dhcp: { mac: '52:54:00:00:00:0A', arch: 'x86_64', uefi: true, ip: { address: '192.0.2.20' } } }],
    },
  };
  const bmc = (providerOptions: object) => ({
    kind: 'Machine',
    metadata: { name: 'bmc1', namespace: 'tink' },
    spec: {
      connection: {
        host: '192.0.2.9',
        insecureTLS: true,
        authSecretRef: { name: 's', namespace: 'x' },
        providerOptions,
      },
    },
  });
  const login = (name?: string, namespace?: string) =>
    name === 's' && namespace === 'x'
      ? { username: 'u', password: 'p', missing: undefined }
      : { username: undefined, password: undefined, missing: `Secret ${namespace}/${name} is not in it` };
  const read = (...objects: object[]) =>
    readTinkerbell({ objects: objects as Record<string, unknown>[], login }).nodes[0];

  test('gets its BMC from the Machine, by Redfish where that is named, else by IPMI', () => {
    expect(read(hardware, bmc({ redfish: { port: 8443, systemName: 'a' } }))).toMatchObject({
      name: 'hw1',
      driver: 'redfish',
      goal: 'manageable',
      fields: {
        driver_info: {
          redfish_address: 'https://192.0.2.9:8443',
          redfish_system_id: '/redfish/v1/Systems/a',
          redfish_password: 'p',
          redfish_verify_ca: false,
        },
        properties: { cpu_arch: 'x86_64', capabilities: 'boot_mode:uefi', root_device: { name: 's== /dev/nvme0n1' } },
      },
      ports: [{ address: '52:54:00:00:00:0a' }],
      left: ['addresses (your DHCP server, or network_data)'],
    });
    expect(read(hardware, bmc({}))).toMatchObject({
      driver: 'ipmi',
      fields: { driver_info: { ipmi_address: '192.0.2.9' } },
    });
  });

  test('has no root disk where it names two, and is refused without its Machine', () => {
    const disks = [{ device: '/dev/sda' }, { device: '/dev/sdb' }];
    const two = read({ ...hardware, spec: { ...hardware.spec, disks } }, bmc({}));
    expect(two?.fields['properties']).not.toHaveProperty('root_device');
    expect(read(hardware)?.refused).toBe('its Machine bmc1 is missing');
    expect(() => readTinkerbell({ objects: [], login })).toThrow('there is no Hardware in it');
  });
});

test('a fleet fits the conductor: drivers and interfaces that it lacks, and masked values, are named and left', () => {
  const node = {
    name: 'n1',
    driver: 'redfish',
    fields: { boot_interface: 'ilo', power_interface: 'redfish', driver_info: { redfish_password: '******', a: 1 } },
    traits: [],
    ports: [],
    portgroups: [],
    stateThere: 'active',
    goal: 'manageable' as const,
    left: [],
  };
  const drivers = new Map([
    [
      'redfish',
      { enabled_boot_interfaces: ['ipxe'], default_boot_interface: 'ipxe', enabled_power_interfaces: ['redfish'] },
    ],
  ]);
  const fleet = { source: 'x', nodes: [node, { ...node, driver: 'ilo' }], left: [] };
  const { nodes } = prepareFleet(fleet, drivers, { resourceClass: 'gold', adopt: ['n1'] });
  expect(nodes[0]).toMatchObject({
    goal: 'active',
    fields: { power_interface: 'redfish', driver_info: { a: 1 }, resource_class: 'gold' },
    left: ['boot_interface ilo (ipxe here)', 'driver_info.redfish_password (masked there)'],
  });
  expect(nodes[0]?.fields).not.toHaveProperty('boot_interface');
  expect(nodes[0]?.fields).not.toHaveProperty('driver_info.redfish_password');
  expect(nodes[1]?.refused).toBe('this conductor has no driver ilo (it has redfish)');
});

test('a certificate that is not verified there is named, or verified; only masked logins of BMCs keep a node back', () => {
  const node = {
    name: 'n1',
    driver: 'redfish',
    fields: { driver_info: { redfish_verify_ca: false }, instance_info: { rescue_password: '******' } },
    traits: [],
    ports: [],
    portgroups: [],
    stateThere: '',
    goal: 'manageable' as const,
    left: [],
  };
  const prepare = (verifyCa: boolean) =>
    prepareFleet({ source: 'x', nodes: [node], left: [] }, new Map([['redfish', {}]]), {
      adopt: [],
      resourceClass: undefined,
      verifyCa,
    }).nodes[0];
  const [plain, verified] = [prepare(false), prepare(true)];
  expect(plain?.left).toContain("verification of its BMC's certificate (--verify-ca keeps it)");
  expect(plain && describeMissingLogin(plain)).toBeUndefined();
  expect(verified?.fields).toMatchObject({ driver_info: { redfish_verify_ca: true } });
  expect(verified?.left).toEqual(['instance_info.rescue_password (masked there)']);
});

describe('passwords that Ironic masks', () => {
  test('come from a file', async () => {
    const file = await write('secrets.yaml', 'n1: {redfish_password: s}\n');
    expect(await readSecretsFile(file)).toEqual(new Map([['n1', { redfish_password: 's' }]]));
    const wrong = await write('wrong.yaml', 'n1: secret\n');
    await expect(readSecretsFile(wrong)).rejects.toThrow(/n1: it must be \{NODE:/);
  });

  test("come by MariaDB's client under its older name, too", async () => {
    const uuid = '11111111-1111-4111-8111-111111111111';
    const program = join(directory, 'mysql');
    await writeFile(program, `#!/bin/sh\necho '${uuid}\t{"ipmi_password": "'"$MYSQL_PWD"'"}'\n`, { mode: 0o755 });
    vi.stubEnv('PATH', directory);
    try {
      expect(await readSecretsDatabase('mysql+pymysql://u:p%20q@h/ironic')).toEqual(
        new Map([[uuid, { ipmi_password: 'p q' }]]),
      );
      vi.stubEnv('PATH', '/none');
      await expect(readSecretsDatabase('mysql://u:p@h/ironic')).rejects.toThrow(
        "read nodes of Ironic's database by mariadb or mysql",
      );
    } finally {
      vi.unstubAllEnvs();
    }
  });

  test('come from no other database than the three', async () => {
    await expect(readSecretsDatabase('oracle://h/x')).rejects.toThrow('--database: it must be sqlite');
    await expect(readSecretsDatabase('mysql://h/x?ssl_ca=/x&ssl_check=1')).rejects.toThrow(
      "ssl_check can't be passed on",
    );
    await expect(readSecretsDatabase('sqlite:////none/x.sqlite')).rejects.toThrow(/read nodes of Ironic's database/);
  });
});
