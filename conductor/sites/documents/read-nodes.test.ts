import { expect, test } from 'vitest';
import { readSite } from '#conductor/sites/documents/read-site.ts';
import { faultText, goodNode, readText, yamlOf } from '#conductor/sites/documents/testing/read-text.ts';
import { parseDocuments } from '#conductor/sites/documents/yaml/parse-documents.ts';
import { siteDocument } from '#conductor/sites/site.ts';
import { cpuMs } from '#test/support/cpu-time.ts';

const profile = (name: string, data: string) => yamlOf('drydock/HostProfile/v1', name, data);
const node = (name: string, data: string) => yamlOf('drydock/BaremetalNode/v1', name, data);
const faultTexts = (text: string) => readText(text).faults.map(faultText);

test('what profiles say holds beneath the node, whatever the order of the documents', () => {
  const documents = [
    goodNode('host_profile: compute\nmetadata: {tags: [gpu, "!base"], rack: r1}'),
    profile('compute', 'host_profile: base\nresource_class: compute\nmetadata: {tags: [compute]}'),
    profile('base', 'boot_mode: bios\nresource_class: base\nmetadata: {tags: [base], owner_data: {zone: a}}'),
  ];
  for (const text of [documents.join(''), documents.toReversed().join('')]) {
    const { site, faults } = readText(text);
    expect(faults).toEqual([]);
    expect(site?.nodes.get('n1')).toMatchObject({
      tags: ['gpu', 'compute'],
      labels: { zone: 'a' },
      rack: 'r1',
      resourceClass: 'compute',
      properties: { capabilities: 'boot_mode:bios', rack: 'r1' },
    });
  }
});

test('circles and unknown profiles, each told once', () => {
  expect(
    faultTexts(
      [
        profile('a', 'host_profile: b'),
        profile('b', 'host_profile: a'),
        profile('self', 'host_profile: self'),
        profile('compute', 'host_profile: bas'),
        profile('base', '{}'),
        node('n1', 'host_profile: a'),
        node('n2', 'host_profile: compute'),
        node('n3', 'host_profile: compte'),
      ].join(''),
    ),
  ).toMatchInlineSnapshot(`
    [
      "Error ProfileCycle HostProfile a data.host_profile: host_profile leads in a circle: a → b → a; one of these profiles must have none beneath it",
      "Error ProfileCycle HostProfile self data.host_profile: host_profile leads in a circle: self → self; one of these profiles must have none beneath it",
      "Error UnknownProfile HostProfile compute data.host_profile: host_profile bas is not a drydock/HostProfile/v1; did you mean base?; there are a, b, self, compute, base",
      "Error UnknownProfile BaremetalNode n3 data.host_profile: host_profile compte is not a drydock/HostProfile/v1; did you mean compute?; there are a, b, self, compute, base",
    ]
  `);
});

test('a chain of profiles has at most 16 of them', () => {
  const chain = (length: number) =>
    Array.from({ length }, (_, index) =>
      profile(`p${index + 1}`, index + 1 === length ? 'boot_mode: bios' : `host_profile: p${index + 2}`),
    );
  const withNode = (length: number) => goodNode('host_profile: p1') + chain(length).join('');
  expect(readText(withNode(16))).toMatchObject({ faults: [], site: { nodes: expect.any(Map) as unknown } });
  expect(faultTexts(withNode(17))).toEqual([
    'Error ProfileDepth HostProfile p1 data.host_profile: host_profile has more than 15 profiles beneath it, each the next one’s: put some of them together',
  ]);
  // whatever the order in which they are read
  expect(faultTexts(goodNode('host_profile: p1') + chain(17).toReversed().join(''))).toHaveLength(1);
});

test('labels of a node have no control characters in their keys', () => {
  expect(faultTexts(goodNode('metadata: {owner_data: {"a\\u001bb": c}}'))).toEqual([
    'Error InvalidValue BaremetalNode n1 data.metadata.owner_data: owner_data has a key with control characters, which a label must not have',
  ]);
});

test('a value that may be a secret is not told', () => {
  expect(faultTexts(goodNode('boot_mode: "ada:word@x"'))[0]).toMatch(/uefi or bios$/);
});

test('faults of a field that differ in its value alone are counted together', () => {
  const nodes = Array.from({ length: 12 }, (_, index) => goodNode(`boot_mode: b${index}`, `n${index}`, index + 1));
  const faults = faultTexts(nodes.join(''));
  expect(faults).toHaveLength(5);
  expect(faults[4]).toMatch(/ \(given: "b4"\) \(and the same in 7 more documents\)$/);
});

test('a profile’s own faults are not its nodes’', () => {
  const text =
    profile('compute', 'boot_mode: legacy') + node('n1', 'host_profile: compute') + node('n2', 'host_profile: compute');
  expect(faultTexts(text)).toMatchInlineSnapshot(`
    [
      "Error InvalidValue HostProfile compute data.boot_mode: boot_mode must be uefi or bios (given: "legacy")",
    ]
  `);
});

test('what a profile means for each of its nodes is told five times and counted', () => {
  const nodes = Array.from({ length: 12 }, (_, index) =>
    goodNode('host_profile: p', `n${index + 1}`, index + 1).replace('credential: bmc', 'fake_id: x'),
  );
  const faults = faultTexts(profile('p', 'oob: {credential: bmc}') + nodes.join(''));
  expect(faults).toHaveLength(5);
  expect(faults.slice(3)).toMatchInlineSnapshot(`
    [
      "Error InvalidValue BaremetalNode n4 data.oob.fake_id: fake_id is nothing that type redfish has; it has address, system_id, verify_ca, auth_type and credential",
      "Error InvalidValue BaremetalNode n5 data.oob.fake_id: fake_id is nothing that type redfish has; it has address, system_id, verify_ca, auth_type and credential (and the same in 7 more documents)",
    ]
  `);
});

test('thousands of names that are none are told, the first with what was meant; none is looked for long', () => {
  const count = 3000;
  const many = Array.from({ length: count }, (_, index) => index);
  const text = [
    ...many.map((index) => profile(`profile-number-${index}`, 'boot_mode: uefi')),
    ...many.map((index) => node(`n${index}`, `host_profile: profile-numbed-${index}`)),
  ].join('');
  const { documents } = parseDocuments(text);
  const started = cpuMs();
  const { faults } = readSite(documents.map((document) => siteDocument('site', document)));
  // each compared with each it was a minute
  expect(cpuMs() - started).toBeLessThan(20_000);
  const unknown = faults.filter(({ name }) => name === 'UnknownProfile').map(({ message }) => message);
  expect(unknown).toHaveLength(count);
  expect(unknown.filter((message) => message.includes('did you mean'))).toHaveLength(20);
  expect(unknown[20]).toBe('host_profile profile-numbed-20 is not a drydock/HostProfile/v1');
});
