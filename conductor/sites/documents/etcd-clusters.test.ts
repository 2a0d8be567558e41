import { expect, test } from 'vitest';
import type { SiteFault } from '#conductor/model/site/site-report.ts';
import { readEtcdClusters } from '#conductor/sites/documents/etcd-clusters.ts';
import { newSuggestNames } from '#conductor/sites/documents/schema-faults.ts';
import { faultText, yamlOf } from '#conductor/sites/documents/testing/read-text.ts';
import { parseDocuments } from '#conductor/sites/documents/yaml/parse-documents.ts';
import { siteDocument } from '#conductor/sites/site.ts';
import { cpuMs } from '#test/support/cpu-time.ts';

function read(...data: string[]) {
  const text = data.map((each, index) => yamlOf('promenade/EtcdClusters/v1', `d${index}`, each)).join('');
  const faults: SiteFault[] = [];
  const documents = parseDocuments(text).documents.map((document) => siteDocument('site', document));
  const known = { credentials: new Set(['etcd-kubernetes']), nodes: new Set(['n1']) };
  return { clusters: readEtcdClusters(documents, known, newSuggestNames(), faults), faultTexts: faults.map(faultText) };
}

test('clusters of all documents', () => {
  const { clusters, faultTexts } = read(
    `clusters:
  - name: kubernetes
    endpoints: ['https://192.0.2.1:2379', 'https://192.0.2.2:2379/']
    tls: kubernetes-etcd
    credential: etcd-kubernetes
    minimum_members: 2
    members: [{node: n1, name: etcd-n1, address: 192.0.2.1}, {name: genesis}]`,
    `clusters: [{name: calico, endpoints: ['http://192.0.2.1:6666'], minimum_members: 1}]`,
  );
  expect(faultTexts).toEqual([]);
  expect(clusters).toEqual([
    {
      name: 'kubernetes',
      endpoints: ['https://192.0.2.1:2379', 'https://192.0.2.2:2379'],
      tls: 'kubernetes-etcd',
      credential: 'etcd-kubernetes',
      minimumMembers: 2,
      members: [{ node: 'n1', name: 'etcd-n1', address: '192.0.2.1' }, { name: 'genesis' }],
    },
    { name: 'calico', endpoints: ['http://192.0.2.1:6666'], minimumMembers: 1, members: [] },
  ]);
});

test('each fault with its message', () => {
  expect([
    ...read('{}').faultTexts,
    ...read('clusters: [{name: a, endpoints: [], minimum_members: 0, credentials: {}}]').faultTexts,
    ...read('clusters: [{name: a, endpoints: [192.0.2.1], minimum_members: 1}]').faultTexts,
    ...read(
      `clusters: [{name: a, endpoints: ['http://a:1', 'http://a:1'], minimum_members: 1, credential: s3cret, members: [{node: n2, name: m}]}]`,
      `clusters: [{name: a, endpoints: ['http://a:1'], minimum_members: 1}]`,
    ).faultTexts,
    ...read(`clusters:
  - {name: a, endpoints: ['http://a:1'], minimum_members: 1, tls: etcd, members: [{node: n1}, {name: m}, {name: m}]}`)
      .faultTexts,
    ...read(`clusters:
  - {name: b, endpoints: ['https://a:1'], minimum_members: 1, tls: ../etc}`).faultTexts,
    ...['127.0.0.1:23804', 'http://127.0.0.1', '192.0.2.999', '[fd00::1]', 'n1.example.org'].flatMap(
      (address) =>
        read(
          `clusters: [{name: c, endpoints: ['https://a:1'], minimum_members: 1, members: [{node: n1, address: '${address}'}]}]`,
        ).faultTexts,
    ),
  ]).toMatchInlineSnapshot(`
    [
      "Error InvalidValue EtcdClusters d0 data.clusters: clusters is missing; it must be a list of clusters",
      "Error InvalidValue EtcdClusters d0 data.clusters[0].endpoints: endpoints must have one URL at least",
      "Error InvalidValue EtcdClusters d0 data.clusters[0].minimum_members: minimum_members must be a number of members, 1 or more (given: 0)",
      "Error UnknownField EtcdClusters d0 data.clusters[0].credentials: credentials is not known here; did you mean credential?; there are name, endpoints, tls, credential, minimum_members, members",
      "Error InvalidValue EtcdClusters d0 data.clusters[0].endpoints[0]: endpoints[0] must be http:// or https:// with host and port, such as https://192.0.2.1:2379 (given: "192.0.2.1")",
      "Error DuplicateEndpoint EtcdClusters d0 data.clusters[0].endpoints[1]: endpoints[1] is given twice",
      "Error UnknownCredential EtcdClusters d0 data.clusters[0].credential: credential is not a stored credential; there is etcd-kubernetes",
      "Error UnknownNode EtcdClusters d0 data.clusters[0].members[0].node: node n2 is not a node; there is n1",
      "Error DuplicateCluster EtcdClusters d1 data.clusters[0].name: name a is another cluster's already",
      "Error PlainEndpoint EtcdClusters d0 data.clusters[0].endpoints[0]: endpoints[0] must be https://, since the cluster has tls",
      "Error NamelessMember EtcdClusters d0 data.clusters[0].members[0]: members[0] must have the member's name, or the address in its peer URL",
      "Error DuplicateMember EtcdClusters d0 data.clusters[0].members[2]: members[2] names a member that stands there already",
      "Error InvalidValue EtcdClusters d0 data.clusters[0].tls: tls must be the name of a directory below BATON_ETCD_TLS_DIR, of letters, digits, _ . and - (given: "../etc")",
      "Error InvalidValue EtcdClusters d0 data.clusters[0].members[0].address: address must be the host in the member's peer URL: an IP address or a host name, without scheme and port (given: "127.0.0.1:23804")",
      "Error InvalidValue EtcdClusters d0 data.clusters[0].members[0].address: address must be the host in the member's peer URL: an IP address or a host name, without scheme and port (given: "http://127.0.0.1")",
      "Error InvalidValue EtcdClusters d0 data.clusters[0].members[0].address: address must be the host in the member's peer URL: an IP address or a host name, without scheme and port (given: "192.0.2.999")",
    ]
  `);
});

test('ten thousand members are looked through once', () => {
  const members = [...Array(10_000).keys(), 7].map((index) => ({ name: `m${index}`, node: `x${index}` }));
  const started = cpuMs();
  const documents = [
    {
      collection: 'site',
      schema: 'promenade/EtcdClusters/v1',
      name: 'large',
      metadata: {},
      data: { clusters: [{ name: 'k', endpoints: ['http://192.0.2.1'], minimum_members: 1, members }] },
    },
  ];
  const faults: SiteFault[] = [];
  readEtcdClusters(documents, { nodes: new Set(members.map(({ name }) => name)) }, newSuggestNames(), faults);
  expect(cpuMs() - started).toBeLessThan(5000);
  expect(faults).toHaveLength(10_002);
});
