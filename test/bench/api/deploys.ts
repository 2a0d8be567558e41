import { moveNodes } from '#test/bench/api/nodes.ts';
import type { MeasuredServer } from '#test/bench/api/server.ts';
import { type Figure, round } from '#test/bench/area.ts';

const deployed = 200;

/** 200 nodes of fake-hardware from `available` to `active`: what the flow itself costs. */
export async function measureFakeDeploys(server: MeasuredServer): Promise<Record<string, Figure>> {
  const names = Array.from({ length: deployed }, (_, index) => `node-${index}`);
  const wallSeconds = await server.timed(
    'fake deploy',
    () => deployed,
    async () => {
      const startedAt = performance.now();
      await moveNodes(server, names, { verb: 'active', to: 'active' });
      return (performance.now() - startedAt) / 1000;
    },
  );
  return { fake_deploys_per_s: { value: round(deployed / wallSeconds), unit: '1/s' } };
}
