import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { SiteFault } from '#conductor/model/site/site-report.ts';
import { foldRepeats, readSite } from '#conductor/sites/documents/read-site.ts';
import { faultText, goodNode, readText, yamlOf } from '#conductor/sites/documents/testing/read-text.ts';
import { parseDocuments } from '#conductor/sites/documents/yaml/parse-documents.ts';
import { siteDocument } from '#conductor/sites/site.ts';
import { indexNodes, selectIndexed } from '#conductor/sites/strategy/select-nodes.ts';
import * as fc from '#test/fuzz/fast-check.ts';

const here = import.meta.dirname;
const everything = {
  credentials: ['site-bmc'],
  networks: ['tenant'],
  drivers: ['redfish'],
  plugins: [{ name: 'monitoring', version: '1.0' }],
};

test('the example: seed 000’s strategy as it is printed there, over nodes, profiles and configuration', async () => {
  const names = ['strategy', 'configuration', 'profiles', 'nodes'];
  const documents = await Promise.all(
    names.map(async (collection) => {
      const parsed = parseDocuments(await readFile(join(here, 'example', `${collection}.yaml`), 'utf8'));
      expect(parsed.faults).toEqual([]);
      return parsed.documents.map((document) => siteDocument(collection, document));
    }),
  );
  const { site, faults } = readSite(documents.flat(), everything);
  expect(faults).toEqual([]);
  const index = indexNodes(site?.nodes.values() ?? []);
  const members = site?.strategy.groups.map(({ name, selectors }) => [name, selectIndexed(selectors, index).join(' ')]);
  expect(members).toMatchInlineSnapshot(`
    [
      [
        "control-nodes",
        "control01 control02 control03 control04",
      ],
      [
        "compute-nodes-1",
        "compute1-01 compute1-02",
      ],
      [
        "compute-nodes-2",
        "compute2-01 compute2-02",
      ],
      [
        "monitoring-nodes",
        "monitor01 monitor02",
      ],
      [
        "ntp-node",
        "ntp01",
      ],
    ]
  `);
});

test('docs/examples/site.yaml is a site without faults', async () => {
  const yaml = await readFile(join(here, '../../../docs/examples/site.yaml'), 'utf8');
  const { site, faults } = readText(yaml, { ...everything, plugins: [] });
  expect(faults).toEqual([]);
  expect([...(site?.nodes.keys() ?? [])]).toEqual(['compute01']);
  const withPlugin = yaml.replaceAll(/^# (?=---|schema|metadata|data)/gm, '');
  expect(readText(withPlugin, everything)).toMatchObject({ faults: [], site: { plugins: everything.plugins } });
});

test('all faults at once, and no site', () => {
  const { site, faults } = readText(
    goodNode('boot_mode: legacy') +
      yamlOf('shipyard/DeploymentStrategy/v1', 'deployment-strategy', 'groups: 3') +
      yamlOf('baton/Plugin/v1', 'p', 'name: p') +
      yamlOf('drydock/HostProfile/v1', 'h', 'oob: 3'),
  );
  expect(site).toBeUndefined();
  expect(faults.map(faultText)).toMatchInlineSnapshot(`
    [
      "Error InvalidValue DeploymentStrategy deployment-strategy data.groups: groups must be a list of groups (given: 3)",
      "Error InvalidValue HostProfile h data.oob: oob must be a mapping (given: 3)",
      "Error InvalidValue BaremetalNode n1 data.boot_mode: boot_mode must be uefi or bios (given: "legacy")",
      "Error InvalidValue Plugin p data.version: version is missing; it must be text",
    ]
  `);
});

test('documents of others', () => {
  const more = [
    yamlOf('armada/Chart/v1', 'a', 'x: 1'),
    yamlOf('armada/Chart/v1', 'b', 'x: 1'),
    yamlOf('drydock/Network/v1', 'oam', 'cidr: 192.0.2.0/24'),
    yamlOf('deckhand/LayeringPolicy/v1', 'policy', 'layerOrder: [site]'),
    yamlOf('shipyard/DeploymentStrategy/v2', 'b', 'x: 1'),
    yamlOf('acme/Thing/v1', 'thing', 'x: 1'),
  ];
  const { site, faults } = readText(goodNode() + more.join(''));
  expect(faults.map(faultText)).toMatchInlineSnapshot(`
    [
      "Info NotUsed Chart a: 2 documents of schema armada/Chart/v1: kept under revision, and not used by Baton",
      "Warning UnknownSchema DeploymentStrategy b schema: a document of schema shipyard/DeploymentStrategy/v2, which Baton does not know; did you mean shipyard/DeploymentStrategy/v1?; there are shipyard/DeploymentStrategy/v1, shipyard/DeploymentConfiguration/v1, drydock/BaremetalNode/v1, drydock/HostProfile/v1, drydock/HardwareProfile/v1, drydock/Network/v1, drydock/NetworkLink/v1, promenade/EtcdClusters/v1, baton/Images/v1, baton/Plugin/v1",
      "Warning UnknownSchema Thing thing schema: a document of schema acme/Thing/v1, which Baton does not know; there are shipyard/DeploymentStrategy/v1, shipyard/DeploymentConfiguration/v1, drydock/BaremetalNode/v1, drydock/HostProfile/v1, drydock/HardwareProfile/v1, drydock/Network/v1, drydock/NetworkLink/v1, promenade/EtcdClusters/v1, baton/Images/v1, baton/Plugin/v1",
    ]
  `);
  expect(site?.nodes.size).toBe(1);
});

test('a name twice in a schema, wherever', () => {
  const one = (collection: string) => ({
    ...siteDocument(collection, { schema: 'drydock/HostProfile/v1', metadata: { name: 'compute' }, data: {} }),
  });
  const { faults } = readSite([one('a'), one('b'), one('a')]);
  expect(faults.map(faultText)).toMatchInlineSnapshot(`
    [
      "Error DuplicateDocument HostProfile compute metadata.name: name compute is the name of a drydock/HostProfile/v1 in collection a already; keep one of them",
      "Error DuplicateDocument HostProfile compute metadata.name: name compute is the name of a drydock/HostProfile/v1 in this collection already; keep one of them",
      "Warning NoNodes: the site has no node: each is a document drydock/BaremetalNode/v1",
    ]
  `);
});

test('documents without data, and a site without nodes', () => {
  const text =
    '---\nschema: drydock/HostProfile/v1\nmetadata: {name: a}\n---\nschema: baton/Plugin/v1\nmetadata: {name: a}\ndata: []\n';
  expect(readText(text).faults.map(faultText)).toMatchInlineSnapshot(`
    [
      "Error InvalidValue HostProfile a data: data is missing",
      "Error InvalidValue Plugin a data: data must be a mapping",
      "Warning NoNodes: the site has no node: each is a document drydock/BaremetalNode/v1",
    ]
  `);
});

const fault: fc.Arbitrary<SiteFault> = fc
  .record({ level: fc.constantFrom('Error', 'Warning'), message: fc.constantFrom('a', 'b'), node: fc.nat(99) })
  .map(({ node, ...rest }) => ({ ...rest, name: 'X', document: { schema: 's', name: `n${node}` } }));

test('at most five of each, none of a kind lost, and the sum is right', () => {
  fc.assert(
    fc.property(fc.array(fault, { maxLength: 60 }), (faults) => {
      const folded = foldRepeats(faults);
      const kinds = (list: readonly SiteFault[]) =>
        Map.groupBy(list, ({ level, message }) => `${level} ${message.charAt(0)}`);
      for (const [kind, all] of kinds(faults)) {
        const faultTexts = kinds(folded).get(kind) ?? [];
        expect(faultTexts).toHaveLength(Math.min(all.length, 5));
        const more = Number(/the same in (\d+) more/.exec(faultTexts.at(-1)?.message ?? '')?.[1] ?? 0);
        expect(faultTexts.length + more).toBe(all.length);
      }
      expect(kinds(folded).size).toBe(kinds(faults).size);
    }),
  );
});
