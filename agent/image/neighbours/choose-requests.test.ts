import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import {
  chooseRequests,
  chunksAhead,
  ownerOf,
  type Situation,
  seedOf,
  type Want,
} from '#agent/image/neighbours/choose-requests.ts';
import type { Member } from '#agent/image-means/image-share.ts';
import { array, assert, boolean, integer, nat, option, property, record, uniqueArray } from '#test/fuzz/fast-check.ts';

const digest = (text: string): string => createHash('sha256').update(text).digest('hex');
const want = (at: number, fields: Partial<Want> = {}): Want => ({
  at,
  seed: seedOf(digest(`chunk ${at}`)),
  asked: { server: false, members: 0 },
  tried: new Set(),
  awaits: new Set(),
  dueSince: undefined,
  ...fields,
});
const member = (number: number, fields: Partial<Member> = {}): Member => {
  const id = digest(`member ${number}`).slice(0, 16);
  return { id, seed: seedOf(id), done: 0, busy: 0, known: true, doubtful: false, ...fields };
};
const situation = (fields: Partial<Situation>): Situation => ({
  now: 10_000,
  selfSeed: seedOf(digest('self')),
  wants: [],
  members: [],
  unheard: 0,
  serverBusy: 0,
  serverMs: 100,
  memberMs: 10,
  ...fields,
});
const wants = Array.from({ length: 100 }, (_, at) => want(at));
const fromServer = (requests: ReturnType<typeof chooseRequests>): readonly number[] =>
  requests.filter(({ from }) => from === 'server').map(({ want: { at } }) => at);

describe('alone', () => {
  test('eight chunks are asked of the server, in their order', () => {
    expect(fromServer(chooseRequests(situation({ wants })))).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(fromServer(chooseRequests(situation({ wants, serverBusy: 6 })))).toEqual([0, 1]);
  });

  test('fewer, where others that are not heard of yet ask it too', () => {
    expect(fromServer(chooseRequests(situation({ wants, unheard: 3 })))).toEqual([0, 1]);
  });

  test('so are they beside a neighbour that stands far behind', () => {
    const members = [member(1)];
    const requests = chooseRequests(situation({ wants: wants.map(({ at }) => want(at + 7000)), members }));
    expect(fromServer(requests)).toHaveLength(8);
    expect(requests).toHaveLength(8);
  });
});

describe('beside neighbours', () => {
  test('a server that is fast is asked alone', () => {
    const requests = chooseRequests(situation({ wants, members: [member(1, { done: 50 })], serverMs: 4 }));
    expect(fromServer(requests)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  });

  test('what one has is asked of it, and not of the server while it is faster', () => {
    const has = member(1, { done: 50 });
    const requests = chooseRequests(situation({ wants, members: [has] }));
    expect(requests.filter(({ from }) => from !== 'server').map(({ want: { at } }) => at)).toContain(0);
    expect(fromServer(requests).every((at) => at >= 50)).toBe(true);
  });

  test('the server is asked besides where they are slower', () => {
    const requests = chooseRequests(situation({ wants, members: [member(1, { done: 50 })], memberMs: 5000 }));
    expect(fromServer(requests).some((at) => at < 50)).toBe(true);
  });

  test('a chunk is asked of no one twice, unless it is late', () => {
    const sends = member(1, { busy: 1 });
    const asked = want(0, { asked: { server: false, members: 1 }, awaits: new Set([sends.id]), dueSince: 9900 });
    expect(chooseRequests(situation({ wants: [asked], members: [sends] }))).toEqual([]);
    const late = { ...asked, dueSince: 1000 };
    expect(fromServer(chooseRequests(situation({ wants: [late], members: [sends] })))).toEqual([0]);
    const waits = want(0, { asked: { server: true, members: 0 }, dueSince: 1000 });
    const has = member(1, { done: 9 });
    expect(chooseRequests(situation({ wants: [waits], members: [has] }))).toEqual([
      { want: waits, from: { member: has.id } },
    ]);
  });

  test('no chunk is left to an owner that is late or has failed while the server is idle', () => {
    const owners = (doubtful: boolean): readonly Member[] =>
      [1, 2].map((number) => member(number, { known: !doubtful, doubtful, busy: 2 }));
    const owned = wants.filter((each) => ownerOf(each, situation({}).selfSeed, owners(false)) !== undefined);
    expect(chooseRequests(situation({ wants: owned, members: owners(false) }))).toEqual([]);
    expect(fromServer(chooseRequests(situation({ wants: owned, members: owners(true) })))).toEqual(
      owned.slice(0, 3).map(({ at }) => at),
    );
  });

  test('a server that is idle is asked for what is awaited from such neighbours alone', () => {
    const asked = (doubtful: boolean, others: readonly Want[] = []): readonly number[] => {
      const waitedFor = member(1, { known: false, doubtful, busy: 1 });
      const awaited = want(0, { asked: { server: false, members: 1 }, awaits: new Set([waitedFor.id]) });
      return fromServer(chooseRequests(situation({ wants: [awaited, ...others], members: [waitedFor] })));
    };
    const ours = wants.slice(1).filter((each) => ownerOf(each, situation({}).selfSeed, [member(1)]) === undefined);
    expect([asked(false), asked(true)]).toEqual([[], [0]]);
    expect(asked(true, ours)).toEqual(ours.slice(0, 4).map(({ at }) => at));
  });

  test('one that has failed is waited for half as long', () => {
    const late = (doubtful: boolean): readonly number[] => {
      const asked = member(1, { known: !doubtful, doubtful, busy: 1 });
      const waits = want(0, { asked: { server: false, members: 1 }, awaits: new Set([asked.id]), dueSince: 9300 });
      return fromServer(chooseRequests(situation({ wants: [waits], members: [asked] })));
    };
    expect([late(false), late(true)]).toEqual([[], [0]]);
  });

  test('each chunk has one owner, the same for all, as often each', () => {
    const all = Array.from({ length: 20 }, (_, number) => member(number));
    const owned = new Map<number, number>();
    for (let at = 0; at < 2000; at += 1) {
      const each = want(at % chunksAhead, { seed: seedOf(digest(`chunk ${at}`)) });
      const owners = all.filter((self) => {
        const others = all.filter(({ id }) => id !== self.id);
        return ownerOf(each, self.seed, others) === undefined;
      });
      expect(owners).toHaveLength(1);
      const [owner] = owners as [Member];
      owned.set(owner.seed, (owned.get(owner.seed) ?? 0) + 1);
    }
    expect(Math.min(...owned.values())).toBeGreaterThan(50);
    expect(Math.max(...owned.values())).toBeLessThan(160);
  });
});

test('whatever is known: nobody is asked beyond the limits, twice, or in vain; and somebody always is', () => {
  const members = uniqueArray(
    record({
      number: nat(30),
      done: nat(2000),
      busy: nat(3),
      known: boolean(),
      doubtful: boolean(),
    }),
    { selector: ({ number }) => number, maxLength: 24 },
  );
  const someWants = uniqueArray(
    record({
      at: nat(1500),
      server: boolean(),
      asked: nat(2),
      tried: array(nat(30), { maxLength: 5 }),
      dueSince: option(nat(10_000), { nil: undefined }),
    }),
    { selector: ({ at }) => at, maxLength: 60 },
  );
  const ms = option(integer({ min: 1, max: 9000 }), { nil: undefined });
  assert(
    property(members, someWants, ms, ms, (known, given, serverMs, memberMs) => {
      const list = known.map(({ number, ...fields }) => member(number, fields));
      const open = given
        .toSorted((a, b) => a.at - b.at)
        .map(({ at, server, asked, tried, dueSince }) =>
          want(at, {
            asked: { server, members: asked },
            tried: new Set(tried.map((number) => member(number).id)),
            dueSince,
          }),
        );
      const serverBusy = open.filter(({ asked }) => asked.server).length;
      const requests = chooseRequests(
        situation({ wants: open, members: list, serverMs, memberMs, serverBusy: Math.min(serverBusy, 8) }),
      );
      const keys = requests.map(({ want: { at }, from }) => `${at} ${JSON.stringify(from)}`);
      expect(new Set(keys).size).toBe(keys.length);
      const asks = new Map<string, number>();
      const inVain = requests.filter(({ want: { asked, tried }, from }) =>
        from === 'server' ? asked.server : tried.has(from.member),
      );
      expect(inVain).toEqual([]);
      for (const { from } of requests) {
        if (from !== 'server') asks.set(from.member, (asks.get(from.member) ?? 0) + 1);
      }
      for (const { id, busy, known } of list) {
        expect((asks.get(id) ?? 0) + (asks.has(id) ? busy : 0)).toBeLessThanOrEqual(known ? 8 : 1);
      }
      // nothing under way, something wanted: somebody is asked
      const idle =
        open.every(({ asked }) => !asked.server && asked.members === 0) && list.every(({ busy }) => busy === 0);
      expect(!idle || open.length === 0 || requests.length > 0).toBe(true);
    }),
    { numRuns: 500 },
  );
});
