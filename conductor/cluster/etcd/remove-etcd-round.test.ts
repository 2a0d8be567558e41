import { afterAll, beforeAll, expect, test } from 'vitest';
import { removeEtcdRound } from '#conductor/cluster/etcd/remove-etcd-round.ts';
import { type Gateway, startGateway } from '#conductor/cluster/etcd/testing/gateway.ts';
import { createEtcdRounds, refusal, reported, siteOf } from '#test/support/etcd-rounds.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

/** Entries with nodes that the site does not have: of a committed revision with faults. Real clusters: `test/system/etcd`. */

let api: TestApi;
let gateway: Gateway;
beforeAll(async () => {
  [api, gateway] = await Promise.all([openTestApi(), startGateway(['n1', 'etcd-4'])]);
});
afterAll(() => Promise.all([gateway.close(), api.close()]));

const removeFrom = (node: string, entries: readonly { node?: string; name: string }[]) => {
  const cluster = { name: 'main', endpoints: [gateway.url], minimumMembers: 1, members: entries };
  return removeEtcdRound(createEtcdRounds(api).contextOf(''), { node, site: siteOf(cluster) });
};

test("one that is a member's excuses no node", async () => {
  expect(await refusal(removeFrom('n4', [{ node: 'n44', name: 'etcd-4' }]))).toContain(
    "etcd can't be removed from n4: etcd cluster main: nothing says on which node etcd-4 (https://etcd-4.example:2380) runs " +
      '(n44, for which members gives the name etcd-4, is not a node of the site): name it in the members',
  );
  expect(gateway.asked.filter((path) => path.includes('remove'))).toEqual([]);
});

test("one that is no member's is warned of", async () => {
  const entries = [{ name: 'etcd-4' }, { node: 'n44', name: 'etcd-9' }, { node: 'n3', name: 'n3' }];
  expect(reported(await removeFrom('n4', entries))).toMatch(
    /^done: no member of main runs on n4.*warning: etcd cluster main: no member has the name etcd-9 that members gives for n44: correct it/,
  );
});
