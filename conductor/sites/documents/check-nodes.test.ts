import { expect, test } from 'vitest';
import { faultText, goodNode, readText, yamlOf } from '#conductor/sites/documents/testing/read-text.ts';

const faultTexts = (text: string, known = {}) => readText(text, known).faults.map(faultText);
const node = (name: string, data: string) => yamlOf('drydock/BaremetalNode/v1', name, data);

test('what two nodes can not share', () => {
  const image = `platform: {image: 'http://i', checksum: 'http://i.sha256'}`;
  const text = [
    node(
      'n1',
      `oob: {type: redfish, address: 'https://BMC.example/', credential: c}\ninterfaces: {a: {mac: '52:54:00:00:00:0a', switch_port: {switch_id: AA, port_id: p1}}}\n${image}`,
    ),
    node(
      'n2',
      `oob: {type: redfish, address: bmc.example, credential: c}\ninterfaces: {x: {mac: 52-54-00-00-00-0A}, y: {mac: '52:54:00:00:00:0b', switch_port: {switch_id: aa, port_id: p1}}, z: {mac: '52:54:00:00:00:0b'}}\n${image}`,
    ),
    node(
      'n3',
      `oob: {type: ipmi, address: 192.0.2.1, credential: c}\nmetadata: {boot_mac: '52:54:00:00:00:0c'}\n${image}`,
    ),
    node(
      'n4',
      `oob: {type: ipmi, address: 192.0.2.1, port: 623, credential: c}\nmetadata: {boot_mac: '52:54:00:00:00:0c'}\n${image}`,
    ),
  ];
  expect(faultTexts(text.join(''))).toMatchInlineSnapshot(`
    [
      "Error DuplicateBmc BaremetalNode n2 data.oob.address: address is bmc.example, which node n1 has already",
      "Error DuplicateMac BaremetalNode n2 data.interfaces.x.mac: mac is 52:54:00:00:00:0a, which node n1 has already",
      "Error DuplicateSwitchPort BaremetalNode n2 data.interfaces.y.switch_port: switch_port is p1 of switch aa, which node n1 has already",
      "Error DuplicateMac BaremetalNode n2 data.interfaces.y.mac: mac is 52:54:00:00:00:0b, which this node has already",
      "Error DuplicateBmc BaremetalNode n4 data.oob.address: address is 192.0.2.1 port 623, which node n3 has already",
      "Error DuplicateMac BaremetalNode n4 data.metadata.boot_mac: boot_mac is 52:54:00:00:00:0c, which node n3 has already",
    ]
  `);
});

test('one BMC may have several systems, and an address several ports', () => {
  const system = (number: number) =>
    goodNode('', `n${number}`, number).replace(/192.0.2.\d+/, `192.0.2.1, system_id: /redfish/v1/Systems/${number}`);
  expect(faultTexts(system(1) + system(2))).toEqual([]);
  const port = (number: number) =>
    goodNode('', `n${number}`, number).replace(/redfish, address: [\d.]+/, `ipmi, address: 192.0.2.1, port: ${number}`);
  expect(faultTexts(port(1) + port(2))).toEqual([]);
});

test('names that lead outside, where what there is is known', () => {
  const text = goodNode()
    .replace('mac:', 'networks: [tennant], mac:')
    .replace('credential: bmc', 'credential: Passw0rd');
  expect(faultTexts(text)).toEqual([]);
  const faults = faultTexts(text, { credentials: ['bmc', 'other'], networks: ['tenant', 'blue'], drivers: ['ipmi'] });
  expect(faults).toMatchInlineSnapshot(`
    [
      "Error UnknownCredential BaremetalNode n1 data.oob.credential: credential is no stored credential; there are bmc, other; user and password are kept by \`baton credential set NAME\`; a password needs \`account\` beside it in the same document",
      "Error UnknownDriver BaremetalNode n1 data.oob.type: type means driver redfish, which this conductor has not; there is ipmi",
      "Error UnknownNetwork BaremetalNode n1 data.interfaces.eth0.networks: networks have tennant, which is no network; did you mean tenant?; there are tenant, blue",
    ]
  `);
  expect(faults.join()).not.toContain('Passw0rd');
  expect(faultTexts(goodNode(), { credentials: ['bmc'], networks: [], drivers: ['redfish'] })).toEqual([]);
});
