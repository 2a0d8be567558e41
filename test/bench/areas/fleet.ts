import type { Area, BenchContext, Figure } from '#test/bench/area.ts';
import { measureCalls } from '#test/bench/fleet/calls.ts';
import { measureLongLink } from '#test/bench/fleet/long-link.ts';
import { measurePruned } from '#test/bench/fleet/pruned.ts';
import { measureResting } from '#test/bench/fleet/resting.ts';
import { type FleetScene, openScene } from '#test/bench/fleet/scene.ts';
import { measureGrowth } from '#test/bench/fleet/slopes.ts';

const nodes = Number(process.env['FLEET_NODES'] ?? 500);
const conductors = Number(process.env['FLEET_CONDUCTORS'] ?? 2);
const deadEvery = 50;

/**
 * Areas of what grows with the fleet: the same work on `FLEET_NODES` nodes (500) with `FLEET_CONDUCTORS` conductors (2) on
 * one PostgreSQL. Beside seconds, which all share two cores, they count statements, blocks that they read, and each
 * program's CPU.
 */
export const fleetAreas: readonly Area[] = [
  // what one of each kind of work reads beside ten times the nodes
  area('fleet_growth', (context) => measureGrowth(context, nodes)),
  // the same work of a conductor 50 ms and 1 % loss away from its database
  area('fleet_link', measureLongLink),
  // lists and heartbeats
  area('fleet_calls', (context) => inScene({ machines: 0 }, (scene) => measureCalls(context, scene, nodes))),
  // what the database keeps of deploys
  area('fleet_pruned', (context) => inScene({ machines: 0 }, (scene) => measurePruned(context, scene))),
  // simulated machines at rest: reading their power
  area('fleet_rest', (context) => inScene({ machines: nodes }, (scene) => measureResting(context, scene, deadEvery))),
];

function area(name: string, measure: (context: BenchContext) => Promise<Record<string, Figure>>): Area {
  return {
    name,
    measure: async (context) =>
      Object.fromEntries(Object.entries(await measure(context)).map(([key, figure]) => [`fleet.${key}`, figure])),
  };
}

async function inScene<T>(
  { machines }: { readonly machines: number },
  act: (scene: FleetScene) => Promise<T>,
): Promise<T> {
  const scene = await openScene({ nodes: machines, conductors, groups: 1, settings: {} });
  try {
    return await act(scene);
  } finally {
    await scene.close();
  }
}
