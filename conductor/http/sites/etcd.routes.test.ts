import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Gateway, startGateway } from '#conductor/cluster/etcd/testing/gateway.ts';
import { nodeDocument } from '#test/support/site-documents.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

const airship = '/api/v1.0';
const yaml = { 'Content-Type': 'application/x-yaml' };

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
});
afterAll(() => api.close());

let gateway: Gateway;
beforeEach(async () => {
  gateway = await startGateway(['n1']);
});
afterEach(() => gateway.close());

/** Commits a site with these nodes and a cluster at these endpoints. @returns its revision */
async function commit(clusters: string, nodes: readonly string[] = ['n1', 'n2']): Promise<number> {
  const document = `---\nschema: promenade/EtcdClusters/v1\nmetadata: {schema: metadata/Document/v1, name: etcd}\ndata: {clusters: [${clusters}]}\n`;
  const text = `${nodes.map((name) => nodeDocument(name)).join('')}${clusters === '' ? '' : document}`;
  const { body } = await api.call('POST', `${airship}/configdocs/site?buffermode=replace`, text, '', yaml);
  await api.call('POST', `${airship}/commitconfigdocs`, undefined, '');
  return (body['details'] as { revision: number }).revision;
}

const cluster = (more = ''): string => `{name: kubernetes, endpoints: ['${gateway.url}'], minimum_members: 1${more}}`;

/** Code, reason, and the messages, one a line. */
async function ask(method: string, path: string, body?: unknown): Promise<unknown[]> {
  const answer = await api.call(method, path, body, '');
  const { code, reason, details } = answer.body as {
    code: number;
    reason: string;
    details: { messageList: { message: string; error: boolean; kind: string; name?: string }[] };
  };
  expect(answer.status).toBe(code);
  return [code, reason, ...details.messageList.map((each) => `${each.error ? '! ' : ''}${each.message}`)];
}
const design = (href: string | number) => ({ rel: 'design', href, type: 'application/x-yaml' });

describe('GET /etcd-cluster-health-statuses', () => {
  test.each(['', airship])('under %j: the three states in the words of the seed', async (prefix) => {
    const revision = await commit(
      `${cluster()}, {name: calico, endpoints: ['http://127.0.0.1:1'], minimum_members: 1}`,
    );
    const path = `${prefix}/etcd-cluster-health-statuses?design_ref=${revision}`;
    expect(await ask('GET', path)).toEqual([200, 'Success', 'Healthy', '! Unable to access Etcd']);
    gateway.state.health = '{"health":"false"}';
    expect(await ask('GET', path)).toEqual([200, 'Success', 'Unhealthy', '! Unable to access Etcd']);
    const { body } = await api.call('GET', path, undefined, '');
    expect(body).toMatchObject({
      status: 'Success',
      details: {
        errorCount: 1,
        messageList: [
          {
            kind: 'HealthMessage',
            name: 'kubernetes',
            causes: expect.arrayContaining(['n1 is unhealthy: it does not have the word of a quorum']) as unknown,
          },
          { kind: 'HealthMessage', name: 'calico' },
        ],
      },
    });
  });

  test('what is wrong with the request, and with what answers', async () => {
    const path = '/etcd-cluster-health-statuses';
    expect((await ask('GET', path)).slice(0, 2)).toEqual([400, 'MissingDesignRef']);
    expect((await ask('GET', `${path}?design_ref=`)).slice(0, 2)).toEqual([400, 'MissingDesignRef']);
    expect((await ask('GET', `${path}?design_ref=newest`)).slice(0, 2)).toEqual([400, 'BadRequest']);
    expect((await ask('GET', `${path}?design_ref=999`)).slice(0, 2)).toEqual([404, 'NotFound']);
    expect((await ask('GET', `${path}?design_ref=${await commit('')}`)).slice(0, 2)).toEqual([404, 'NotFound']);
    const other = await startGateway(['n2']);
    await commit(`${cluster()}, {name: calico, endpoints: ['${other.url}'], minimum_members: 1}`);
    gateway.state.health = 'It works!';
    const asked = `${path}?design_ref=committed`;
    // one that is none hides no other
    expect(await ask('GET', asked)).toEqual([500, 'EtcdNotAccessible', '! Unable to access Etcd', 'Healthy']);
    const { body } = await api.call('GET', asked, undefined, '');
    expect(body['message']).toContain(
      `${gateway.url}/health answered 503 "It works!", which is nothing that etcd would say`,
    );
    await other.close();
  });
});

describe('POST /nodes/{node_id}/remove-etcd', () => {
  test.each(['', '/v1', airship])(
    'under %j: what is done, and what can not be; a design by its address',
    async (prefix) => {
      const revision = await commit(cluster());
      gateway.state.members.push({ ID: '2', name: 'n2' });
      const href = `deckhand+http://api.example/revisions/${revision}/rendered-documents`;
      const answer = await ask('POST', `${prefix}/nodes/n2/remove-etcd?timeout=1`, design(href));
      // it answers nowhere: without it one of two is not a quorum
      expect(answer.slice(0, 2)).toEqual([500, 'RemoveEtcdError']);
      expect(answer.at(-1)).toContain('it has no quorum now: 1 of 2 voting members healthy (n2 is unreachable)');
      gateway.state.members.pop();
      expect(await ask('POST', `${prefix}/nodes/n2/remove-etcd`, design(revision))).toEqual([
        200,
        'Success',
        'no member of kubernetes runs on n2',
      ]);
      expect(await ask('POST', `${prefix}/nodes/n1/remove-etcd`, design('committed'))).toEqual([
        500,
        'RemoveEtcdError',
        '! etcd cluster kubernetes: removing member n1 would leave the cluster without members',
      ]);
      expect(gateway.asked.filter((path) => path.includes('remove'))).toEqual([]);
    },
  );

  test('an entry of the node that no member fits is warned of', async () => {
    const n1 = '{node: n1, name: n1}';
    const revision = await commit(cluster(`, members: [${n1}, {node: n2, address: 192.0.2.44}]`));
    expect(await ask('POST', '/nodes/n2/remove-etcd', design(revision))).toEqual([
      200,
      'Success',
      'no member of kubernetes runs on n2',
      'warning: etcd cluster kubernetes: no member has the address 192.0.2.44 that members gives for n2: ' +
        'correct it, or drop it if the member has left',
    ]);
    const others = await commit(cluster(`, members: [${n1}, {node: n3, name: n3}]`), ['n1', 'n2', 'n3']);
    expect(await ask('POST', '/nodes/n2/remove-etcd', design(others))).toHaveLength(3);
  });

  test('what is wrong with the request', async () => {
    const revision = await commit(cluster());
    const path = '/nodes/n1/remove-etcd';
    expect((await ask('POST', '/nodes/n9/remove-etcd', design(revision))).slice(0, 2)).toEqual([404, 'NotFound']);
    expect((await ask('POST', path, design(999))).slice(0, 2)).toEqual([404, 'NotFound']);
    expect((await ask('POST', path, { ...design(1), rel: 'x' })).slice(0, 2)).toEqual([400, 'BadRequest']);
    expect((await ask('POST', `${path}?timeout=0`, design(revision))).slice(0, 2)).toEqual([400, 'BadRequest']);
    expect((await ask('POST', `${path}?grace-period=1`, design(revision))).slice(0, 2)).toEqual([400, 'BadRequest']);
  });

  test('a cluster that asks for user and password', async () => {
    await api.call('PUT', `${airship}/credentials/etcd-root`, { username: 'root', password: 'secret' }, '');
    await commit(cluster(', credential: etcd-root'));
    gateway.state.login = { name: 'root', password: 'secret' };
    expect((await ask('POST', '/nodes/n2/remove-etcd', design('committed'))).slice(0, 2)).toEqual([200, 'Success']);
    gateway.state.login = { name: 'root', password: 'other' };
    const refused = await ask('POST', '/nodes/n2/remove-etcd', design('committed'));
    expect(refused.slice(0, 2)).toEqual([500, 'RemoveEtcdError']);
    expect(refused.at(-1)).toContain('refuses: etcdserver: authentication failed, invalid user ID or password');
    expect(refused.at(-1)).not.toContain('secret');
  });
});
