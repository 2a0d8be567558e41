import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { maximumMinor } from '#conductor/http/routing/versions.ts';
import { nodeFieldVersions } from '#conductor/model/node-words.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

/** Every list of the API does this alike (ironic-api.md §1.4). */

let api: TestApi;
let chassisUuid: string;
const count = 5;
const sequence = Array.from({ length: count }, (_each, index) => index);

interface Collection {
  /** With `{chassis}` for the chassis that the nodes stand in. */
  readonly path: string;
  readonly key: string;
  /** A field of theirs that lists are sorted by, and its values in the order in which they were made. */
  readonly sorted: { readonly field: string; readonly values: readonly unknown[] };
  /** Documents. */
  readonly unsortable: readonly string[];
  /** `detail` is an argument. */
  readonly hasDetail: boolean;
  /** `fields` is one. */
  readonly hasFields: boolean;
}

const addresses = sequence.map((index) => `52:54:00:00:00:0${count - index}`);
const names = sequence.map((index) => `n${count - index}`);
const nodes = {
  key: 'nodes',
  sorted: { field: 'name', values: names },
  unsortable: ['driver_info', 'extra', 'traits'],
};
const ports = { key: 'ports', sorted: { field: 'address', values: addresses }, unsortable: ['extra', 'internal_info'] };
const portgroups = {
  key: 'portgroups',
  sorted: { field: 'name', values: names.map((name) => `bond-${name}`) },
  unsortable: ['extra', 'properties', 'internal_info'],
};
const connectors = {
  key: 'connectors',
  sorted: { field: 'connector_id', values: names.map((name) => `iqn.2026-11.example:${name}`) },
  unsortable: ['extra'],
};
const targets = {
  key: 'targets',
  sorted: { field: 'volume_id', values: names },
  unsortable: ['extra', 'properties'],
};
const whole = { hasDetail: true, hasFields: true };
const plain = { hasDetail: false, hasFields: true };
const fixed = { hasDetail: false, hasFields: false };

const collections: readonly Collection[] = [
  { path: '/v1/nodes', ...nodes, ...whole },
  { path: '/v1/nodes/detail', ...nodes, ...fixed },
  { path: '/v1/chassis/{chassis}/nodes', ...nodes, ...whole },
  { path: '/v1/chassis/{chassis}/nodes/detail', ...nodes, ...fixed },
  { path: '/v1/ports', ...ports, ...whole },
  { path: '/v1/ports/detail', ...ports, ...fixed },
  { path: '/v1/nodes/n5/ports', ...ports, ...whole },
  { path: '/v1/portgroups/bond-n5/ports', ...ports, ...whole },
  { path: '/v1/portgroups', ...portgroups, ...whole },
  { path: '/v1/portgroups/detail', ...portgroups, ...fixed },
  { path: '/v1/nodes/n5/portgroups', ...portgroups, ...whole },
  {
    path: '/v1/chassis',
    key: 'chassis',
    sorted: { field: 'description', values: names },
    unsortable: ['extra'],
    ...whole,
  },
  {
    path: '/v1/chassis/detail',
    key: 'chassis',
    sorted: { field: 'description', values: names },
    unsortable: ['extra'],
    ...fixed,
  },
  {
    path: '/v1/allocations',
    key: 'allocations',
    sorted: { field: 'name', values: names },
    unsortable: ['extra', 'traits', 'candidate_nodes'],
    ...plain,
  },
  {
    path: '/v1/deploy_templates',
    key: 'deploy_templates',
    sorted: { field: 'name', values: names.map((name) => `CUSTOM_${name.toUpperCase()}`) },
    unsortable: ['extra', 'steps'],
    ...whole,
  },
  {
    path: '/v1/runbooks',
    key: 'runbooks',
    sorted: { field: 'name', values: names.map((name) => `CUSTOM_RUN_${name.toUpperCase()}`) },
    unsortable: ['extra', 'steps'],
    ...whole,
  },
  {
    path: '/v1/inspection_rules',
    key: 'inspection_rules',
    sorted: { field: 'description', values: names },
    unsortable: ['conditions', 'actions'],
    ...whole,
  },
  { path: '/v1/volume/connectors', ...connectors, ...whole },
  { path: '/v1/nodes/n5/volume/connectors', ...connectors, ...whole },
  { path: '/v1/volume/targets', ...targets, ...whole },
  { path: '/v1/nodes/n5/volume/targets', ...targets, ...whole },
];

async function make(path: string, body: unknown): Promise<string> {
  const { status, uuid, fault } = await api.call('POST', path, body);
  expect([path, status, fault]).toEqual([path, 201, undefined]);
  return uuid;
}

beforeAll(async () => {
  api = await openTestApi();
  for (const index of sequence) {
    const name = names[index] ?? '';
    const chassis = await make('/v1/chassis', { description: name });
    if (index === 0) chassisUuid = chassis;
    await make('/v1/nodes', { driver: 'fake-hardware', name, chassis_uuid: chassisUuid });
    await make('/v1/allocations', { name, resource_class: 'x' });
    const steps = [{ interface: 'deploy', step: 'erase_devices_metadata', args: {}, priority: 50 }];
    await make('/v1/deploy_templates', { name: `CUSTOM_${name.toUpperCase()}`, steps });
    const ordered = [{ interface: 'deploy', step: 'erase_devices_metadata', args: {}, order: 1 }];
    await make('/v1/runbooks', { name: `CUSTOM_RUN_${name.toUpperCase()}`, steps: ordered });
    const actions = [{ op: 'set-attribute', args: { path: '/description', value: name } }];
    await make('/v1/inspection_rules', { description: name, actions });
  }
  const { uuid: nodeUuid } = (await api.call('GET', '/v1/nodes/n5')) as { uuid: string };
  await api.context.db.execute(`update nodes set power_state = 'power off'`);
  const groups: string[] = [];
  for (const name of names) groups.push(await make('/v1/portgroups', { node_uuid: nodeUuid, name: `bond-${name}` }));
  for (const index of sequence) {
    const [portgroup] = groups;
    await make('/v1/ports', { node_uuid: nodeUuid, address: addresses[index], portgroup_uuid: portgroup });
    const connectorId = `iqn.2026-11.example:${names[index]}`;
    await make('/v1/volume/connectors', { node_uuid: nodeUuid, type: 'iqn', connector_id: connectorId });
    const target = { node_uuid: nodeUuid, volume_type: 'iscsi', volume_id: names[index], boot_index: index + 1 };
    await make('/v1/volume/targets', target);
  }
});
afterAll(() => api.close());

const pathOf = ({ path }: Collection) => path.replace('{chassis}', chassisUuid);

async function get(collection: Collection, query: string) {
  const { status, body, fault } = await api.call('GET', `${pathOf(collection)}?${query}`, undefined, 'latest');
  const rows = (body[collection.key] ?? []) as Record<string, unknown>[];
  return { status, rows, next: body['next'] as string | undefined, fault };
}

/** Every page's rows, by following `next`. */
async function walk(
  collection: Collection,
  query: string,
): Promise<{ rows: Record<string, unknown>[]; pages: string[] }> {
  const pages: string[] = [];
  const rows: Record<string, unknown>[] = [];
  let answer = await get(collection, query);
  for (;;) {
    rows.push(...answer.rows);
    if (answer.next === undefined || pages.length > count) return { rows, pages };
    pages.push(answer.next);
    const url = new URL(answer.next);
    const { body } = await api.call('GET', `${url.pathname}${url.search}`, undefined, 'latest');
    answer = {
      ...answer,
      rows: body[collection.key] as Record<string, unknown>[],
      next: body['next'] as string | undefined,
    };
  }
}

/** Arguments that show the field that the rows are told apart by. */
const showing = ({ hasFields, sorted: { field } }: Collection) => (hasFields ? `&fields=uuid,${field}` : '');

describe.each(collections)('GET $path', (collection) => {
  const { field, values } = collection.sorted;

  test('pages lead to each other and repeat the query', async () => {
    const { rows, pages } = await walk(collection, `limit=2&sort_dir=asc${showing(collection)}`);
    expect(rows.map((row) => row[field])).toEqual(values);
    expect(pages).toHaveLength(2);
    for (const page of pages) {
      expect(new URL(page).pathname.split('/').at(-1)).toBe(pathOf(collection).split('/').at(-1));
      expect(page).toContain('limit=2');
      expect(page).toContain('sort_dir=asc');
      expect(page).toContain(collection.hasFields ? `fields=uuid,${field}` : 'marker=');
    }
    const all = await get(collection, `limit=100000${showing(collection)}`);
    expect(all.rows).toHaveLength(count);
    expect(all.next).toBeUndefined();
  });

  test('are sorted both ways, on every page', async () => {
    const sortedValues = [...values].sort((a, b) => String(a).localeCompare(String(b)));
    const up = await walk(collection, `limit=2&sort_key=${field}${showing(collection)}`);
    expect(up.rows.map((row) => row[field])).toEqual(sortedValues);
    const down = await walk(collection, `limit=2&sort_key=${field}&sort_dir=desc${showing(collection)}`);
    expect(down.rows.map((row) => row[field])).toEqual(sortedValues.toReversed());
    const latest = await walk(collection, `limit=2&sort_dir=desc${showing(collection)}`);
    expect(latest.rows.map((row) => row[field])).toEqual(values.toReversed());
  });

  test('what is wrong is said', async () => {
    const refusals: readonly (readonly [string, number, RegExp])[] = [
      ['limit=0', 400, /must be positive/],
      ['limit=-1', 400, /must be positive/],
      ['limit=two', 400, /limit/],
      ['sort_dir=up', 400, /sort_dir/],
      ['sort_key=bogus', 400, /sort_key value bogus/],
      ['marker=nope', 400, /UUID/],
      ['marker=11111111-1111-4111-8111-111111111111', 404, /could not be found/],
      ['bogus=1', 400, /Unexpected arguments: bogus/],
      ...collection.unsortable.map((name) => [`sort_key=${name}`, 400, /invalid field for sorting/] as const),
      ...(collection.hasFields ? [['fields=uuid,bogus', 400, /'bogus'/] as const] : []),
      ...(collection.hasFields ? [] : [['fields=uuid', 400, /Unexpected arguments: fields/] as const]),
      ...(collection.hasDetail ? [['detail=true&fields=uuid', 400, /detail/] as const] : []),
    ];
    for (const [query, status, words] of refusals) {
      const answer = await get(collection, query);
      expect([query, answer.status, answer.fault]).toEqual([query, status, expect.stringMatching(words)]);
    }
  });

  test('objects keep their links, and detail shows everything', async () => {
    const narrow = await get(collection, collection.hasFields ? 'fields=uuid&limit=1' : 'limit=1');
    expect(narrow.rows[0]).toMatchObject({
      uuid: expect.any(String) as string,
      links: [{ rel: 'self' }, { rel: 'bookmark' }],
    });
    const shown = await get(collection, collection.hasDetail ? 'detail=true&limit=1' : 'limit=1');
    expect(shown.rows[0]).toHaveProperty('created_at');
    const usual = await get(collection, 'limit=1');
    expect(Object.hasOwn(usual.rows[0] ?? {}, 'created_at')).toBe(!collection.hasDetail);
  });
});

test.each([
  ['/v1/nodes?sort_key=shard', 81, 406],
  ['/v1/nodes?fields=uuid', 7, 406],
  ['/v1/nodes?fields=shard', 81, 406],
  ['/v1/nodes?detail=true', 42, 406],
  ['/v1/nodes?shard=a', 81, 406],
  ['/v1/ports?sort_key=name', 87, 406],
  ['/v1/ports?fields=portgroup_uuid', 23, 406],
  ['/v1/ports?portgroup=bond-n5', 23, 406],
  ['/v1/ports?detail=true', 42, 406],
  ['/v1/portgroups?sort_key=mode', 25, 406],
  ['/v1/portgroups?fields=mode', 25, 406],
  ['/v1/portgroups', 22, 404],
  ['/v1/nodes/n5/portgroups', 23, 404],
  ['/v1/portgroups/bond-n5/ports', 23, 404],
  ['/v1/portgroups/bond-n5/ports/detail', 23, 404],
  ['/v1/nodes/n5/portgroups/detail', 23, 404],
  ['/v1/chassis?fields=uuid', 7, 406],
  ['/v1/allocations', 51, 404],
  ['/v1/deploy_templates', 54, 404],
  ['/v1/volume/connectors', 31, 404],
  ['/v1/volume/targets', 31, 404],
  ['/v1/conductors', 48, 404],
  ['/v1/shards', 81, 404],
  ['/v1/nodes/n5/traits', 36, 406],
  ['/v1/nodes/n5/vifs', 27, 404],
  ['/v1/nodes/n5/bios', 39, 404],
  ['/v1/nodes/n5/firmware', 85, 404],
  ['/v1/nodes/n5/children', 82, 404],
  ['/v1/nodes/n5/history', 77, 404],
  ['/v1/nodes/n5/inventory', 80, 404],
  ['/v1/runbooks', 91, 404],
  ['/v1/inspection_rules', 95, 404],
  ['/v1/ports?fields=description', 96, 406],
  ['/v1/ports?conductor_group=a', 98, 406],
  ['/v1/portgroups?conductor_groups=a', 98, 406],
  ['/v1/portgroups?fields=category', 102, 406],
  ['/v1/nodes?instance_name=a', 103, 406],
  ['/v1/portgroups?shard=a', 105, 406],
  ['/v1/nodes?fields=health', 108, 406],
])('GET %s is not in 1.%i and is in the next', async (path, before, status) => {
  expect((await api.call('GET', path, undefined, `1.${before}`)).status).toBe(status);
  const { status: since, fault } = await api.call('GET', path, undefined, `1.${before + 1}`);
  // a node that was not inspected has no inventory, which says so
  expect([path, since === 200 || fault?.includes('nventory')]).toEqual([path, true]);
});

/** Sort keys as Ironic has them: every column that is no document. */
const nodeSortKeys = Object.entries(nodeFieldVersions).flatMap(([field, since]) =>
  since > maximumMinor ||
  /_info$|_step$|raid_config$|^(properties|extra|traits|network_data|firmware|conductor)$/.test(field)
    ? []
    : [field],
);

test.each(nodeSortKeys)('nodes are sorted by %s, with ties, both ways and over all pages', async (key) => {
  for (const direction of ['asc', 'desc']) {
    const query = `limit=2&fields=uuid,name&sort_key=${key}&sort_dir=${direction}`;
    const { rows } = await walk({ path: '/v1/nodes', ...nodes, ...whole }, query);
    expect(rows.map(({ name }) => String(name)).toSorted()).toEqual(names.toSorted());
  }
});

test('an interface sorts by its name, chosen or by default', async () => {
  await api.call('PATCH', '/v1/nodes/n3', [{ op: 'replace', path: '/raid_interface', value: 'no-raid' }]);
  await api.call('PATCH', '/v1/nodes/n4', [{ op: 'replace', path: '/deploy_interface', value: 'direct' }]);
  const sorted = async (key: string) => {
    const { rows } = await get({ path: '/v1/nodes', ...nodes, ...whole }, `sort_key=${key}&fields=name,${key}`);
    return rows.map((row) => String(row[key]));
  };
  for (const key of ['raid_interface', 'deploy_interface']) {
    const found = await sorted(key);
    expect(found).toEqual(found.toSorted());
    expect(new Set(found).size).toBe(2);
  }
});
