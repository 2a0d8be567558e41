import { type Figure, percentile, round } from '#test/bench/area.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import { type PromotionLab, startPromotionLab } from '#test/support/promotion-lab.ts';

const spares = 4;
/** Half of them of a synchronous standby, amid answers; half of one that was behind, without the answers. */
const promotions = 40;

const namesOf = (count: number) => Array.from({ length: spares }, (_, index) => `of-${count}-${index}`);

/**
 * Machines that are given a second time, and answers that are lost with a synchronous standby, when the primary database
 * server dies; and how long nothing is written meanwhile.
 */
export async function measurePromotions(say: (line: string) => void): Promise<Record<string, Figure>> {
  const lab = await startPromotionLab({ spares });
  try {
    const seconds: number[] = [];
    const seen = { doubles: 0, lost: 0, held: 0 };
    for (let count = 0; count < promotions; count += 1) {
      if (count > 0) await lab.pair.follow();
      const isBehind = count % 2 === 1;
      const came = isBehind ? await promoteBehind(lab, count) : await promoteSynchronous(lab, count);
      seconds.push(came.seconds);
      seen.doubles += came.doubles;
      seen.lost += came.lost;
      seen.held += came.held;
    }
    say(
      `${promotions} promotions: ${JSON.stringify(seen)}; writes after ${seconds.map((each) => round(each)).join(', ')} s`,
    );
    return {
      promoted_doubles: { value: seen.doubles, unit: `of ${promotions * spares}` },
      promoted_lost: { value: seen.lost, unit: `of ${(promotions / 2) * spares}` },
      promoted_held: { value: seen.held, unit: `of ${promotions / 2} behind` },
      database_s: { value: round(percentile(seconds, 1)), unit: 's' },
    };
  } finally {
    await lab.close();
  }
}

interface Came {
  readonly seconds: number;
  readonly doubles: number;
  readonly lost: number;
  readonly held: number;
}

/** Seconds from the kill until something is written again. */
async function failOver({ pair, operator }: PromotionLab): Promise<number> {
  const since = performance.now();
  const promoting = pair.failOver();
  const change = [{ op: 'add', path: '/extra/at', value: since }];
  await waitUntil('a write', () => operator.call('PATCH', '/v1/nodes/machine', change).then(() => true), {
    everyMs: 20,
  });
  const seconds = (performance.now() - since) / 1000;
  await promoting;
  return seconds;
}

async function promoteSynchronous(lab: PromotionLab, count: number): Promise<Came> {
  await lab.pair.synchronous(true);
  const answering = lab.allocate(namesOf(count));
  await waitUntil('the first to be there', async () => (await lab.allocations()).size > 0 || undefined, { everyMs: 5 });
  const seconds = await failOver(lab);
  const answered = await answering;
  const all = await served(lab);
  const lost = answered.filter((name) => !all.has(name)).length;
  const held = (await heldNodes(lab)).length > 0 ? 1 : 0;
  for (const name of all.keys()) await lab.operator.call('DELETE', `/v1/allocations/${name}`);
  // a hold here would be a false alarm
  return { seconds, doubles: all.size - new Set(all.values()).size, lost: lost + held, held: 0 };
}

async function promoteBehind(lab: PromotionLab, count: number): Promise<Came> {
  await lab.pair.synchronous(false);
  await lab.pair.stopFollowing();
  await lab.allocate(namesOf(count));
  const given = new Set((await served(lab)).values());
  const seconds = await failOver(lab);
  const again = namesOf(count).map((name) => `${name}-again`);
  await lab.allocate(again);
  const held = await heldNodes(lab);
  const doubles = [...(await lab.allocations()).values()].filter((node) => node !== null && given.has(node)).length;
  for (const name of again) await lab.operator.call('DELETE', `/v1/allocations/${name}`).catch(() => undefined);
  for (const name of held) await release(lab, name);
  return { seconds, doubles, lost: 0, held: held.length === spares + 1 ? 1 : 0 };
}

const served = (lab: PromotionLab) =>
  waitUntil('each allocation to have its node', async () => {
    const all = await lab.allocations();
    return [...all.values()].every((node) => node !== null) ? all : undefined;
  });

async function heldNodes({ operator }: PromotionLab): Promise<string[]> {
  const { nodes } = (await operator.call('GET', '/v1/nodes/detail')) as {
    nodes: { name: string; fault: string | null }[];
  };
  return nodes.filter(({ fault }) => fault === 'restored').map(({ name }) => name);
}

/** A person has looked: nothing runs on it. */
async function release({ operator }: PromotionLab, name: string): Promise<void> {
  await operator.provision(name, 'manage');
  await operator.waitForState(name, 'manageable');
  await operator.call('DELETE', `/v1/nodes/${name}/maintenance`);
  await operator.provision(name, 'provide');
  await operator.waitForState(name, 'available');
  await waitUntil('its power to be read', async () => (await operator.node(name))['power_state'] !== null || undefined);
}
