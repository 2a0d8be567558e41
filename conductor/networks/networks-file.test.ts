import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { findSwitch, noNetworks, parseNetworksFile, resolveNetwork } from '#conductor/networks/networks-file.ts';

const good = `
switches:
  - switch_id: "00:11:22:AA:44:55"
    driver: ovs
    endpoint: unix:/run/openvswitch/db.sock
networks:
  provisioning: {vlan: 100}
  cleaning: {vlan: 100}
  tenant: {vlan: 200}
  blue-team.2: {vlan: 4094}
defaults: {provisioning: provisioning, cleaning: cleaning, tenant: tenant}
`;

const parse = (text: string) =>
  parseNetworksFile(text, 'networks.yaml', [
    { name: 'ovs', bonds: { modes: ['lacp'], pairs: ['lacp'] } },
    { name: 'eos', transports: ['ssh', 'https'], removesVlans: ['ssh'] },
  ]);

describe('parseNetworksFile', () => {
  test('reads switches, networks and defaults', () => {
    const networks = parse(good);
    expect(networks.switches).toEqual([
      { switchId: '00:11:22:AA:44:55', driver: 'ovs', endpoint: 'unix:/run/openvswitch/db.sock' },
    ]);
    expect(networks.networks.map((network) => `${network.name}=${network.vlans.untagged}`)).toEqual([
      'provisioning=100',
      'cleaning=100',
      'tenant=200',
      'blue-team.2=4094',
    ]);
    expect(networks.defaults?.tenant).toBe('tenant');
  });

  test('reads trunks, and physical networks', () => {
    const text = good.replace('{vlan: 4094}', '{vlan: 300, tagged: [401, "310-312"], physical_network: rack7}');
    expect(resolveNetwork(parse(text), 'tenant', 'blue-team.2')).toEqual({
      name: 'blue-team.2',
      vlans: { untagged: 300, tagged: [310, 311, 312, 401] },
      physicalNetwork: 'rack7',
    });
    expect(
      resolveNetwork(parse(good.replace('{vlan: 4094}', '{tagged: [310]}')), 'tenant', 'blue-team.2').vlans,
    ).toEqual({
      untagged: undefined,
      tagged: [310],
    });
  });

  test('reads how to log in, and which ports may be moved', () => {
    const text = good.replace(
      'driver: ovs\n    endpoint: unix:/run/openvswitch/db.sock',
      `driver: eos
    endpoint: ssh:192.0.2.11
    username: baton
    password_file: /etc/baton/leaf1.password
    host_key: SHA256:${'a'.repeat(43)}
    create_vlans: true
    remove_vlans: true
    ports: ["Ethernet{1-46}"]
    uplinks: [Ethernet49]`,
    );
    expect(parse(text).switches).toEqual([
      {
        switchId: '00:11:22:AA:44:55',
        driver: 'eos',
        endpoint: 'ssh:192.0.2.11',
        username: 'baton',
        passwordFile: '/etc/baton/leaf1.password',
        hostKey: `SHA256:${'a'.repeat(43)}`,
        createVlans: true,
        removeVlans: true,
        ports: ['Ethernet{1-46}'],
        uplinks: ['Ethernet49'],
      },
    ]);
  });

  test.each([
    ['eos', 'ssh:192.0.2.1', '', 'only VLANs that Baton has created are removed; set create_vlans: true'],
    ['eos', 'https:192.0.2.1', 'create_vlans: true, ', "driver eos can't find out over https which VLANs"],
  ])('refuses to remove VLANs of %s that are not known to be its own', (driver, endpoint, more, says) => {
    const entry = `{switch_id: a, driver: ${driver}, endpoint: '${endpoint}', credential: c, ports: [p1], ${more}remove_vlans: true}`;
    const text = good.replace(/switches:[\s\S]*?networks:/, `switches: [${entry}]\nnetworks:`);
    expect(() => parse(text)).toThrow(`switches[0].remove_vlans: ${says}`);
  });

  test('reads the bonds of switches, and what is to be repaired', () => {
    const text = good.replace('driver: ovs', 'driver: ovs\n    repair: true\n    bonds: {bond7: [p1, p2]}');
    expect(parse(text).switches).toMatchObject([{ repair: true, bonds: { bond7: ['p1', 'p2'] } }]);
  });

  const leaf = (id: string, more: string) => `{switch_id: ${id}, driver: ovs, endpoint: 'unix:/db', ${more}}`;
  const leaves = (...each: string[]) =>
    good.replace(/switches:[\s\S]*?networks:/, `switches: [${each.join()}]\nnetworks:`);

  test('reads the bonds that Baton makes, also with a pair', () => {
    const text = leaves(leaf('a', 'bond_numbers: 101-148, pair: B'), leaf('b', 'bond_numbers: 101-148, pair: a'));
    const same = { bondNumbers: { from: 101, to: 148 }, bondModes: ['lacp'], pairedBondModes: ['lacp'] };
    expect(parse(text).switches).toMatchObject([
      { ...same, pair: 'B' },
      { ...same, pair: 'a' },
    ]);
  });

  test.each([
    ['a range backwards', [leaf('a', 'bond_numbers: 9-8')], '[0].bond_numbers: must be a range of numbers'],
    ['a number alone', [leaf('a', 'bond_numbers: 9')], '[0].bond_numbers: must be a range of numbers'],
    [
      "an operator's bond among them",
      [leaf('a', 'bond_numbers: 1-9, bonds: {bond7: [p1]}')],
      "[0].bonds.bond7: is one of bond_numbers, which are Baton's",
    ],
    ['a pair that is unknown', [leaf('a', 'pair: b')], '[0].pair: b is not a switch of the file'],
    ['a pair of one', [leaf('a', 'pair: A')], '[0].pair: is the switch itself'],
    ['a pair one way', [leaf('a', 'pair: b'), leaf('b', '')], '[0].pair: b does not name a as its pair'],
    [
      'a pair with other numbers',
      [leaf('a', 'pair: b, bond_numbers: 1-9'), leaf('b', 'pair: a')],
      '[0].pair: b has other bond_numbers, and a pair shares them',
    ],
  ])('refuses %s', (_name, each, says) => {
    expect(() => parse(leaves(...each))).toThrow(`switches${says}`);
  });

  test('needs no switches', () => {
    expect(parse(good.replace(/switches:[\s\S]*?networks:/, 'networks:')).switches).toEqual([]);
  });

  test('needs no networks where Neutron has them', () => {
    const text =
      'neutron: {auth_url: "http://192.0.2.1:5000/v3/", application_credential_id: x, application_credential_secret_file: /s, provisioning: p, cleaning: c}';
    expect(parse(text)).toEqual({
      switches: [],
      networks: [],
      defaults: undefined,
      neutron: {
        url: undefined,
        caFile: undefined,
        keystone: {
          url: 'http://192.0.2.1:5000/v3',
          region: undefined,
          secretFile: '/s',
          as: { applicationCredential: 'x' },
        },
        networks: { provisioning: 'p', cleaning: 'c' },
      },
    });
  });

  test.each([
    [
      '{}',
      'neutron.provisioning: must be a string; put it in quotes; neutron.cleaning: must be a string; put it in quotes',
    ],
    ['{provisioning: p, cleaning: c}', 'neutron.url: give Neutron’s url, or the auth_url of Keystone'],
    [
      '{provisioning: p, cleaning: c, url: "http://n", username: x}',
      'neutron.username: means nothing without auth_url',
    ],
    [
      '{provisioning: p, cleaning: c, auth_url: "http://k", username: x}',
      'neutron.password_file: is needed with auth_url; neutron.project: is needed with auth_url',
    ],
    ['{provisioning: p, cleaning: c, url: "ftp://n"}', 'neutron.url: must be an http:// or https:// URL'],
  ])('refuses neutron: %s', (section, says) => {
    expect(() => parse(`neutron: ${section}`)).toThrow(`is wrong: ${says}`);
  });

  const bad: [name: string, from: string | RegExp, to: string, says: string][] = [
    ['a network without VLANs', '{vlan: 200}', '{}', 'networks.tenant.vlan: give the network a vlan'],
    [
      'an untagged VLAN that is tagged',
      '{vlan: 200}',
      '{vlan: 200, tagged: ["199-201"]}',
      'networks.tenant.tagged: 200 is',
    ],
    [
      'a tagged VLAN twice',
      '{vlan: 200}',
      '{vlan: 200, tagged: [7, "5-9"]}',
      'networks.tenant.tagged: has a VLAN twice',
    ],
    ['a tagged VLAN 1 alone', '{vlan: 200}', '{tagged: [1, 2]}', 'networks.tenant.tagged: VLAN 1 is untagged'],
    [
      'a range beyond the last VLAN',
      '{vlan: 200}',
      '{tagged: ["4090-4095"]}',
      'networks.tenant.tagged: VLANs are 1 to 4094',
    ],
    ['a range that is none', '{vlan: 200}', '{tagged: [a-b]}', 'networks.tenant.tagged[0]: must be a VLAN'],
    ['a range backwards', '{vlan: 200}', '{tagged: ["9-5"]}', 'networks.tenant.vlan: give the network a vlan'],
    [
      'a network without tags that machines boot on',
      'provisioning: {vlan: 100}',
      'provisioning: {tagged: [100]}',
      'defaults.provisioning: network provisioning has no vlan',
    ],
    ['a VLAN of 0', 'vlan: 200', 'vlan: 0', 'networks.tenant.vlan: '],
    ['a VLAN of 4095', 'vlan: 200', 'vlan: 4095', 'networks.tenant.vlan: '],
    ['a VLAN that is text', 'vlan: 200', 'vlan: "200"', 'networks.tenant.vlan: '],
    ['a fraction as VLAN', 'vlan: 200', 'vlan: 1.5', 'networks.tenant.vlan: '],
    ['two networks of one name', '  tenant: {vlan: 200}', '  cleaning: {vlan: 200}', 'line 9, column 3: Map keys must'],
    ['an odd network name', 'blue-team.2', '"blue team"', 'networks.blue team: must be letters'],
    ['a default that does not exist', 'tenant: tenant}', 'tenant: green}', 'defaults.tenant: network green does not'],
    ['a missing default', ', tenant: tenant}', '}', 'defaults.tenant: '],
    [
      'an unknown driver, naming the others and the ways on',
      'driver: ovs',
      'driver: cisco',
      'switches[0].driver: unknown driver cisco; drivers are: ovs, eos. Without one for a switch, set its ports by hand and ' +
        'give the nodes network_interface flat or noop, or add its operating system (conductor/networks/README.md)',
    ],
    [
      'a login that is not told',
      'driver: ovs',
      'driver: eos',
      'switches[0].endpoint: driver eos takes ssh:HOST or ssh:HOST:PORT, https:HOST or https:HOST:PORT; ' +
        'switches[0].username: driver eos needs one, or a credential; switches[0]: driver eos needs one of password_file, key_file and credential; ' +
        'switches[0].ports: driver eos needs the ports that may be moved, such as ["Ethernet{1-46}"]',
    ],
    [
      'a login for none',
      'driver: ovs',
      'driver: ovs\n    username: x',
      'switches[0].username: driver ovs does not log in',
    ],
    [
      'a host key and a key over HTTPS',
      /driver: ovs\n.*endpoint: .*/,
      'driver: eos\n    endpoint: https://192.0.2.11\n    username: x\n    key_file: /k\n    ports: [p]',
      'switches[0].password_file: needed over https, or a credential; switches[0].key_file: means nothing over https',
    ],
    [
      'a credential and a password',
      /driver: ovs\n.*endpoint: .*/,
      'driver: eos\n    endpoint: ssh:192.0.2.11\n    credential: leafs\n    username: x\n    password_file: /p\n    ports: [p]',
      'switches[0].username: must go, the credential has user and password; switches[0].password_file: must go, the',
    ],
    [
      'a certificate that is none',
      'driver: ovs',
      'driver: ovs\n    certificate: ab:cd',
      'switches[0].certificate: must be a SHA-256 in hexadecimal, as openssl x509 -fingerprint -sha256 prints it',
    ],
    [
      'a host key that is none',
      'driver: ovs',
      'driver: ovs\n    host_key: ab:cd',
      'switches[0].host_key: must be SHA256: and 43 characters, as ssh-keygen -l prints it; switches[0].host_key: driver',
    ],
    [
      'a password file that is relative',
      'driver: ovs',
      'driver: ovs\n    password_file: x',
      'switches[0].password_file: must be an absolute path',
    ],
    ['an unquoted number as switch_id', '"00:11:22:AA:44:55"', '12', 'switches[0].switch_id: must be a string'],
    ['an unknown key', 'driver: ovs', 'driver: ovs\n    pasword: x', 'switches[0]: '],
    [
      'a port in two bonds',
      'driver: ovs',
      'driver: ovs\n    bonds: {a: [p1, p2], b: [p2]}',
      'switches[0].bonds.a: p2 is a member twice; switches[0].bonds.b: p2 is a member twice',
    ],
    [
      'a bond in a bond',
      'driver: ovs',
      'driver: ovs\n    bonds: {a: [b], b: [p2]}',
      'switches[0].bonds.a: b is a bond itself',
    ],
    [
      'bonds of a driver that makes none',
      'driver: ovs',
      'driver: eos\n    bond_numbers: 1-9',
      'switches[0].endpoint: driver eos takes ssh:HOST or ssh:HOST:PORT, https:HOST or https:HOST:PORT; ' +
        'switches[0].username: driver eos needs one, or a credential; switches[0]: driver eos needs one of password_file, key_file and credential; ' +
        'switches[0].ports: driver eos needs the ports that may be moved, such as ["Ethernet{1-46}"]; ' +
        "switches[0].bond_numbers: driver eos makes no bonds; name the switch's own in bonds",
    ],
    ['a bond of nothing', 'driver: ovs', 'driver: ovs\n    bonds: {a: []}', 'switches[0].bonds.a: '],
    [
      'ports in a range that names none',
      'driver: ovs',
      'driver: ovs\n    ports: ["e{46-1}"]',
      'switches[0].ports[0]: has a range',
    ],
    [
      'a misspelt key',
      'driver: ovs',
      'driver: ovs\n    port: [e1]',
      'switches[0]: there is no port; did you mean ports?',
    ],
    [
      'a misspelt section',
      'defaults: {',
      'swiches: []\ndefaults: {',
      'file: there is no swiches; did you mean switches?',
    ],
    ['a missing endpoint', /\n {4}endpoint.*/, '', 'switches[0].endpoint: '],
    ['a list instead of a map', /[\s\S]*/, '- a', 'file: '],
    ['nothing at all', /[\s\S]*/, '', 'file: '],
    ['broken YAML', 'defaults: {', 'defaults: {{', 'line '],
    [
      'a rule for moved cables that is none',
      'defaults: {',
      'moved_cables: ignore\ndefaults: {',
      'moved_cables: must be one of off, warn, refuse',
    ],
  ];
  test.each(bad)('refuses %s', (_name, from, to, says) => {
    expect(() => parse(good.replace(from, to))).toThrow(`networks file networks.yaml is wrong: ${says}`);
  });

  test('refuses two switches whose ids differ only by case', () => {
    const second = '\n  - {switch_id: "00:11:22:aa:44:55", driver: ovs, endpoint: "tcp:127.0.0.1:6640"}\nnetworks:';
    expect(() => parse(good.replace('\nnetworks:', second))).toThrow(
      'switches[1].switch_id: 00:11:22:aa:44:55 is already switches[0]',
    );
    const leaf = (ids: string) => second.replace('00:11:22:aa:44:55", ', `b", lldp_ids: ${ids}, `);
    const parsed = parse(good.replace('\nnetworks:', leaf('[leaf2, "0011.22aa.4456"]')));
    expect(parsed.switches[1]?.lldpIds).toEqual(['leaf2', '0011.22aa.4456']);
    expect(() => parse(good.replace('\nnetworks:', leaf('["0011.22aa.4455"]')))).toThrow(
      'switches[1].lldp_ids: 0011.22aa.4455 is also what switches[0] goes by',
    );
    expect(() => parse(good.replace('\nnetworks:', leaf('[]')))).toThrow(/switches\[1\]\.lldp_ids: /);
  });

  test('lists all faults at once', () => {
    const text = good.replace('vlan: 200', 'vlan: 0').replace('vlan: 4094', 'vlan: 5000');
    expect(() => parse(text)).toThrow(/networks\.tenant\.vlan: .*; networks\.blue-team\.2\.vlan: /);
    const other = good.replace('driver: ovs', 'driver: x').replace('tenant: tenant}', 'tenant: green}');
    expect(() => parse(other)).toThrow(/switches\[0\]\.driver: .*; defaults\.tenant: /);
    const mixed = other.replace('vlan: 200', 'vlan: 0').replace('"00:11:22:AA:44:55"', '12');
    expect(() => parse(mixed)).toThrow(
      /switches\[0\]\.switch_id: .*; networks\.tenant\.vlan: .*; switches\[0\]\.driver: .*; defaults\.tenant: /,
    );
  });
});

describe('findSwitch', () => {
  test('disregards case', () => {
    expect(findSwitch(parse(good), '00:11:22:aa:44:55')?.driver).toBe('ovs');
    expect(findSwitch(parse(good), '00:11:22:aa:44:56')).toBeUndefined();
  });
});

describe('resolveNetwork', () => {
  test('answers the default, and a network by name', () => {
    expect(resolveNetwork(parse(good), 'tenant')).toEqual({ name: 'tenant', vlans: { untagged: 200, tagged: [] } });
    expect(resolveNetwork(parse(good), 'tenant', 'blue-team.2').vlans.untagged).toBe(4094);
  });

  test('names the networks there are', () => {
    expect(() => resolveNetwork(parse(good), 'tenant', 'red')).toThrow(
      'tenant network red does not exist; networks are: provisioning, cleaning, tenant, blue-team.2',
    );
    expect(() => resolveNetwork(noNetworks, 'cleaning')).toThrow('there is no cleaning network');
  });
});

test('docs/examples/networks.yaml is a networks file', async () => {
  const text = await readFile(new URL('../../docs/examples/networks.yaml', import.meta.url), 'utf8');
  const { switches, networks } = parse(text);
  expect(switches).toHaveLength(1);
  expect(networks.map(({ name }) => name)).toEqual(['provisioning', 'cleaning', 'tenant', 'blue']);
});
