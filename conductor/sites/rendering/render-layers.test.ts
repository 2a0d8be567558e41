import { expect, test } from 'vitest';
import { readSite } from '#conductor/sites/documents/read-site.ts';
import { parseDocuments } from '#conductor/sites/documents/yaml/parse-documents.ts';
import { renderLayers } from '#conductor/sites/rendering/render-layers.ts';
import { type SiteDocument, siteDocument } from '#conductor/sites/site.ts';
import * as fc from '#test/fuzz/fast-check.ts';

const policy = {
  schema: 'deckhand/LayeringPolicy/v1',
  name: 'policy',
  data: { layerOrder: ['global', 'type', 'site'] },
};

interface Given {
  readonly schema?: string;
  readonly name: string;
  readonly data?: unknown;
  readonly layer?: string;
  readonly abstract?: boolean;
  readonly labels?: Record<string, string>;
  readonly parent?: Record<string, string>;
  readonly actions?: readonly object[];
  readonly replacement?: boolean;
  readonly substitutions?: readonly object[];
}

function document({
  schema = 'a/B/v1',
  name,
  data,
  labels,
  replacement,
  substitutions,
  ...layering
}: Given): SiteDocument {
  const { layer, abstract, parent, actions } = layering;
  const layeringDefinition = { layer, abstract, parentSelector: parent, actions };
  const metadata = { name, labels, replacement, substitutions, layeringDefinition };
  return siteDocument('c', JSON.parse(JSON.stringify({ schema, metadata, data })));
}

function render(...given: readonly Given[]) {
  const { documents, faults } = renderLayers(given.map(document));
  return {
    data: Object.fromEntries(documents.map(({ name, data }) => [name, data])),
    faults: faults.map(({ name, message, document: of }) => `${name} ${of?.name ?? ''}: ${message}`),
  };
}

/** Makes a substitution from another document. */
const from = (name: string, path = '.', dest: object = { path: '.x' }, more: object = {}) => [
  { src: { schema: 'a/B/v1', name, path, ...more }, dest },
];

const merge = { method: 'merge', path: '.' };
const base: Given = {
  name: 'base',
  layer: 'global',
  abstract: true,
  labels: { of: 'x', kind: 'y' },
  data: { a: { b: 1, c: [1] } },
};
const child = (more: Partial<Given>): Given => ({ name: 'child', layer: 'site', parent: { of: 'x' }, ...more });

test('merge, replace and delete, in their order', () => {
  const actions = [merge, { method: 'delete', path: '.a.b' }, { method: 'replace', path: '.a.c' }];
  expect(render(policy, base, child({ actions, data: { a: { c: [2] }, d: 3 } })).data['child']).toEqual({
    a: { c: [2] },
    d: 3,
  });
  const whole = (method: string) => render(policy, base, child({ actions: [{ method, path: '.' }], data: { d: 3 } }));
  expect(whole('merge').data['child']).toEqual({ a: { b: 1, c: [1] }, d: 3 });
  expect(whole('replace').data['child']).toEqual({ d: 3 });
  expect(whole('delete').data['child']).toEqual({});
  // no action, nothing inherited
  expect(render(policy, base, child({ data: { d: 3 } })).data['child']).toEqual({ d: 3 });
});

test('merge and replace make what the parent lacks; delete needs it', () => {
  const one = (method: string, path: string, data: object) =>
    render(policy, base, child({ actions: [{ method, path }], data }));
  for (const method of ['merge', 'replace']) {
    expect(one(method, '.x.y', { x: { y: [1], z: 2 } }).data['child']).toEqual({ a: { b: 1, c: [1] }, x: { y: [1] } });
    expect(one(method, '.a', {}).faults).toEqual([
      `MissingDocumentKey child: can't be rendered: ${method} needs .a, which the document has not`,
    ]);
  }
  expect(one('delete', '.x', { x: 1 }).faults).toEqual([
    "MissingDocumentKey child: can't be rendered: delete needs .x, which the parent has not",
  ]);
  // Deckhand takes .data for the whole
  expect(one('replace', '.data.a.b', { a: { b: 2 } }).data['child']).toEqual({ a: { b: 2, c: [1] } });
  expect(one('merge', '$.data.a', { a: { b: 2 } }).data['child']).toEqual({ a: { b: 2, c: [1] } });
});

test('the parent is in the nearest layer above that has one', () => {
  const near = { ...base, name: 'near', layer: 'type', data: { near: true } };
  const rendered = render(child({ actions: [merge], data: {} }), near, base, policy);
  expect(rendered).toEqual({ data: { policy: policy.data, child: { near: true } }, faults: [] });
  // children of children
  const between = { ...near, parent: { kind: 'y' }, actions: [merge] };
  expect(render(child({ actions: [merge], data: {} }), between, base, policy).data['child']).toEqual({
    near: true,
    a: { b: 1, c: [1] },
  });
});

test('a replacement takes the place of its parent, in substitutions too', () => {
  const parent = { ...base, abstract: false };
  const other = { ...child({ name: 'base', actions: [merge], data: { a: { b: 2 } } }), replacement: true };
  const user = {
    name: 'user',
    data: {},
    substitutions: [{ src: { schema: 'a/B/v1', name: 'base', path: '.a.b' }, dest: { path: '.n[0].x' } }],
  };
  expect(render(policy, parent, other, user)).toEqual({
    data: { policy: policy.data, base: { a: { b: 2, c: [1] } }, user: { n: [{ x: 2 }] } },
    faults: [],
  });
});

test('a document without the parent that it looks for is rendered without', () => {
  const substitutions = [{ src: { schema: 'a/B/v1', name: 'source', path: '.' }, dest: { path: '.x' } }];
  const alone = child({ parent: { of: 'nobody' }, actions: [merge], data: { a: 1 }, substitutions });
  expect(render(policy, base, { name: 'source', data: 2 }, alone)).toEqual({
    data: { policy: policy.data, source: 2, child: { a: 1, x: 2 } },
    faults: [
      'MissingDocumentParent child: no a/B/v1 in a layer above site has the labels of: nobody: nothing is inherited',
    ],
  });
  expect(renderLayers([document(policy), document(alone)]).faults[1]?.level).toBe('Warning');
  // whose place would it take?
  expect(render(policy, { ...child({ data: {} }), replacement: true }).faults[0]).toContain(
    'InvalidDocumentReplacement',
  );
});

test('other children of a replaced document inherit from the replacement', () => {
  const replacement = { ...child({ name: 'base', actions: [merge], data: { a: { b: 2 } } }), replacement: true };
  const sibling = child({ name: 'sibling', actions: [merge], data: { d: 3 } });
  const between = { ...sibling, name: 'between', layer: 'type' };
  const given = [policy, sibling, base, between, replacement];
  const expected = { a: { b: 2, c: [1] }, d: 3 };
  for (const each of [given, given.toReversed()]) {
    expect(render(...each)).toMatchObject({ data: { sibling: expected, between: expected }, faults: [] });
  }
  // what the replacement lacks they do not get by the back door
  const broken = {
    ...replacement,
    substitutions: [{ src: { schema: 'a/B/v1', name: 'none', path: '.' }, dest: { path: '.x' } }],
  };
  expect(render(policy, base, broken, sibling).faults).toEqual([
    "SubstitutionSourceNotFound base: can't be rendered: there is no a/B/v1 none",
    "SourceNotRendered sibling: can't be rendered: it needs a/B/v1 base, which can't be rendered",
  ]);
});

test('substitution into texts, by pattern and in depth', () => {
  const source = { name: 'source', data: { word: '$1 \\1 hush', port: 80 } };
  const substitutions = (path: string, dest: object) => [{ src: { schema: 'a/B/v1', name: 'source', path }, dest }];
  const of = (path: string, dest: object, data: unknown) =>
    render(source, { name: 'user', data, substitutions: substitutions(path, dest) });
  expect(of('.word', { path: '.url', pattern: 'W[A-Z]+D' }, { url: 'a WORD, a WORLD' }).data['user']).toEqual({
    url: 'a $1 \\1 hush, a $1 \\1 hush',
  });
  const nested = { x: ['PORT', { y: 'PORT', z: [['PORT']] }] };
  const deep = (depth?: number) =>
    of('$.port', { path: '.x', pattern: 'PORT', recurse: depth === undefined ? {} : { depth } }, nested).data['user'];
  expect(deep()).toEqual({ x: ['80', { y: '80', z: [['80']] }] });
  expect(deep(2)).toEqual({ x: ['80', { y: '80', z: [['PORT']] }] });
  expect(of('.port', [{ path: '.a' }, { path: ".'b.c'" }] as object, {}).data['user']).toEqual({ a: 80, 'b.c': 80 });
});

test('a part of a text is substituted', () => {
  const image = 'docker.io/library/hello-world:latest';
  const part = (pattern: string, more: object = {}, data: unknown = { image, number: 1 }) => {
    const substitutions = from('source', data === image ? '.' : '.image', { path: '.x' }, { pattern, ...more });
    const { data: rendered, faults } = render({ name: 'source', data }, { name: 'user', data: {}, substitutions });
    return faults[0] ?? (rendered['user'] as { x?: unknown })['x'];
  };
  expect(part('^(.*):(.*)', { match_group: 1 })).toBe('docker.io/library/hello-world');
  expect(part('^(.*):(.*)', { match_group: 2, deepcopy: true })).toBe('latest');
  expect(part('hello.*', {}, image)).toBe('hello-world:latest');
  // Python's ways
  expect(part('(?P<tag>\\w+)$', { match_group: 1 }, { image: `${image}\n` })).toBe('latest');
  expect(part('\\Adocker')).toBe('docker');
  expect(part('(?P<one>[]l])(?P=one)')).toBe('ll');
  expect(part('(x)|docker', { match_group: 1 })).toContain('InvalidPattern user');
  expect(part('x', { match_group: 3 })).toMatch(
    /^PatternNotFound user: pattern "x" is not found .*: all of it is used$/,
  );
  expect(part('d', { match_group: 3 })).toMatch(/InvalidPattern user: .* has 0 groups, and match_group is 3/);
  expect(part('(?i)docker')).toContain('is not a regular expression that Baton can read');
  expect(part('(a+)+$', {}, { image: `${'a'.repeat(50)}!` })).toContain('takes too long');
  expect(part('1', {}, { image: 1 })).toContain('src.pattern is for texts, and .image of a/B/v1 source is none');
  const { documents } = renderLayers(
    [
      { name: 'source', data: image },
      { name: 'user', data: {}, substitutions: from('source', '.', { path: '.x' }, { pattern: 'no such' }) },
    ].map(document),
  );
  expect(documents[1]?.data).toEqual({ x: image });
});

test('a list that is too short is filled up with empty mappings', () => {
  const into = (path: string, data: object) =>
    render({ name: 'source', data: 'x' }, { name: 'user', data, substitutions: from('source', '.', { path }) });
  expect(into('.list[1]', { list: [] }).data['user']).toEqual({ list: [{}, 'x'] });
  expect(into('.list[3].y', { list: [1] }).data['user']).toEqual({ list: [1, {}, {}, { y: 'x' }] });
  expect(into('.list[1]', {}).data['user']).toEqual({ list: [{}, 'x'] });
  expect(into('.list[0]', { list: [1, 2] }).data['user']).toEqual({ list: ['x', 2] });
  expect(into('.list[900000]', {}).faults[0]).toContain('InvalidPath user');
});

test('what can not be rendered, each with its document', () => {
  const slow = { path: '.text', pattern: '(a+)+$' };
  expect([
    ...render(child({})).faults,
    ...render(policy, child({ layer: 'elsewhere' })).faults,
    ...render(policy, base, { ...base, name: 'second' }, child({})).faults,
    ...render(policy, base, child({ replacement: true })).faults,
    ...render(policy, base, child({ name: 'base' })).faults,
    ...render(policy, base, child({ actions: [{ method: 'replace', path: '.none' }], data: {} })).faults,
    ...render(policy, { ...policy, name: 'other' }).faults,
    ...render({ name: 'user', substitutions: from('none') }).faults,
    ...render({ name: 'a', data: {} }, { name: 'user', substitutions: from('a', '.none') }).faults,
    ...render(
      { name: 'a', data: 1 },
      { name: 'user', data: { x: 'y' }, substitutions: from('a', '.', { path: '.x', pattern: 'z' }) },
    ).faults,
    ...render(
      { name: 'a', substitutions: from('b') },
      { name: 'b', substitutions: from('a') },
      { name: 'c', substitutions: from('a') },
    ).faults,
    ...render(
      { name: 'a', data: 1 },
      { name: 'user', data: { text: `${'a'.repeat(50)}!` }, substitutions: from('a', '.', slow) },
    ).faults,
    ...render({ name: 'a', data: 1, substitutions: from('a', '.*') }, { name: 'b', substitutions: [{}] }).faults,
  ]).toMatchInlineSnapshot(`
    [
      "LayeringPolicyNotFound child: can't be rendered: it has a parentSelector, and the site has no deckhand/LayeringPolicy/v1 with the layers' order",
      "InvalidDocumentLayer child: can't be rendered: its layer elsewhere is none of the LayeringPolicy's: global, type, site",
      "IndeterminateDocumentParent child: can't be rendered: 2 documents of layer global may be its parent (base, second); its labels must choose one",
      "InvalidDocumentReplacement child: can't be rendered: a replacement must have the name of its parent, base",
      "InvalidDocumentReplacement base: can't be rendered: it has its parent's name: say replacement: true, or give it another",
      "MissingDocumentKey child: can't be rendered: replace needs .none, which the document has not",
      "DuplicateLayeringPolicy policy: can't be rendered: a site has one deckhand/LayeringPolicy/v1; there are other and policy",
      "SubstitutionSourceNotFound user: can't be rendered: there is no a/B/v1 none",
      "SubstitutionSourceDataNotFound user: can't be rendered: a/B/v1 a has no .none",
      "MissingDocumentPattern user: can't be rendered: pattern "z" is not found in .x",
      "SubstitutionDependencyCycle a: can't be rendered: it needs itself: a → b → a",
      "SubstitutionDependencyCycle b: can't be rendered: it needs itself: a → b → a",
      "SourceNotRendered c: can't be rendered: it needs a/B/v1 a, which can't be rendered",
      "InvalidPattern user: can't be rendered: pattern "(a+)+$" takes too long to be searched for",
      "SubstitutionDependencyCycle a: can't be rendered: it needs itself: a → a",
      "InvalidDocumentFormat b: can't be rendered: metadata.substitutions.0.src must be a mapping with schema, name, path, pattern, match_group, deepcopy",
    ]
  `);
});

test('substitutions of substitutions end at a limit', () => {
  const levels = Array.from({ length: 40 }, (_, index) => ({
    name: `n${index}`,
    data: {},
    substitutions: ['.a', '.b'].map((path) => ({
      src: { schema: 'a/B/v1', name: index === 0 ? 'seed' : `n${index - 1}`, path: '.' },
      dest: { path },
    })),
  }));
  expect(render({ name: 'seed', data: { x: 1 } }, ...levels).faults[0]).toContain('TooLarge');
});

const example = `
schema: deckhand/LayeringPolicy/v1
metadata: {schema: metadata/Control/v1, name: layering-policy}
data: {layerOrder: [global, site]}
---
schema: drydock/HostProfile/v1
metadata: {schema: metadata/Document/v1, name: defaults, labels: {hosttype: defaults}, layeringDefinition: {abstract: true, layer: global}}
data: {boot_mode: uefi, platform: {image: 'http://IMAGES/debian.qcow2', checksum: 'http://images/sums'}}
---
schema: drydock/HostProfile/v1
metadata:
  schema: metadata/Document/v1
  name: compute
  layeringDefinition: {abstract: false, layer: site, parentSelector: {hosttype: defaults}, actions: [{method: merge, path: '.'}]}
  substitutions:
    - src: {schema: site/Hosts/v1, name: hosts, path: .images}
      dest: {path: '.platform.image', pattern: IMAGES}
data: {resource_class: compute}
---
schema: site/Hosts/v1
metadata: {schema: metadata/Document/v1, name: hosts}
data: {images: images.site.example}
`;

const node = `
schema: drydock/BaremetalNode/v1
metadata: {schema: metadata/Document/v1, name: n1, layeringDefinition: {layer: site}}
data:
  host_profile: compute
  oob: {type: fake, fake_id: n1}
  metadata: {boot_mac: '52:54:00:00:00:01'}
`;

test.each<[unknown, string]>([
  [true, 'True'],
  [false, 'False'],
  [null, 'None'],
  [8, '8'],
  [1.5, '1.5'],
  [0.00001, '1e-05'],
])('%o is %s in a text that has a pattern, as Python writes it', (data, written) => {
  const source = document({ schema: 'a/Source/v1', name: 'source', data: { value: data } });
  const substitutions = [
    { src: { schema: 'a/Source/v1', name: 'source', path: '.value' }, dest: { path: '.text', pattern: 'HERE' } },
  ];
  const { documents } = renderLayers([
    source,
    document({ schema: 'a/Text/v1', name: 'text', data: { text: 'x=HERE' }, substitutions }),
  ]);
  expect(documents.find(({ name }) => name === 'text')?.data).toEqual({ text: `x=${written}` });
});

test('a site is read as it is rendered', () => {
  const documents = parseDocuments(`${example}---${node}`).documents.map((each) => siteDocument('c', each));
  const { site, faults } = readSite(documents);
  expect(faults.filter(({ level }) => level === 'Error')).toEqual([]);
  expect(JSON.stringify(site?.nodes.get('n1'))).toContain('http://images.site.example/debian.qcow2');
});

test('a secret of a document that does not say so gets into no site by substitution', () => {
  const source = document({ schema: 'a/Secret/v1', name: 'pw', data: 'hush hush' });
  const substitutions = [{ src: { schema: source.schema, name: 'pw', path: '.' }, dest: { path: '.oob.credential' } }];
  const profile = document({ schema: 'drydock/HostProfile/v1', name: 'p', data: {}, substitutions });
  const { site, faults } = readSite([source, profile]);
  expect(site).toBeUndefined();
  expect(faults.map(({ name }) => name)).toContain('LiteralCredential');
  expect(JSON.stringify(faults)).not.toContain('hush');
});

test('of documents that others use a fault in rendering is a warning', () => {
  const chart = document({ schema: 'armada/Chart/v1', name: 'c', parent: { of: 'x' } });
  expect(readSite([chart]).faults.map(({ level, name }) => `${level} ${name}`)).toContain(
    'Warning LayeringPolicyNotFound',
  );
});

test('rendering does not depend on the order of the documents', () => {
  const documents = parseDocuments(example).documents.map((each) => siteDocument('c', each));
  expect(documents).toHaveLength(4);
  const byName = (given: readonly SiteDocument[]) =>
    new Map(renderLayers(given).documents.map((each) => [each.name, each]));
  expect(byName(documents).get('compute')?.data).toEqual({
    boot_mode: 'uefi',
    resource_class: 'compute',
    platform: { image: 'http://images.site.example/debian.qcow2', checksum: 'http://images/sums' },
  });
  fc.assert(
    fc.property(fc.shuffledSubarray(documents, { minLength: documents.length }), (given) => {
      expect(byName(given)).toEqual(byName(documents));
    }),
  );
});

test('a merge with an empty child is the parent', () => {
  const data = fc.dictionary(
    fc.string().filter((key) => key !== '__proto__'),
    fc.jsonValue(),
  );
  fc.assert(
    fc.property(data, (parent) => {
      const rendered = render(policy, { ...base, data: parent }, child({ actions: [merge], data: {} }));
      expect(rendered.data['child']).toEqual(JSON.parse(JSON.stringify(parent)));
    }),
  );
});
