import type { Area, Figure } from '#test/bench/area.ts';
import { measureLongLink } from '#test/bench/fleet/long-link.ts';
import { measureResting } from '#test/bench/fleet/resting.ts';
import { openScene } from '#test/bench/fleet/scene.ts';
import { measureGrowth } from '#test/bench/fleet/slopes.ts';

const nodes = Number(process.env['FLEET_NODES'] ?? 500);
const conductors = Number(process.env['FLEET_CONDUCTORS'] ?? 2);
const deadEvery = 50;

/**
 * Area of what grows with the fleet: the same work on `FLEET_NODES` simulated machines (500) with `FLEET_CONDUCTORS`
 * conductors (2) on one PostgreSQL. Beside seconds, which all share two cores, it counts statements, blocks
 * that they read, and each program's CPU.
 */
export const fleetArea: Area = {
  name: 'fleet',
  measure: async (context) => {
    const figures: Record<string, Figure> = {
      ...(await measureGrowth(context, nodes)),
      ...(await measureLongLink(context)),
    };
    const resting = await openScene({ nodes, conductors, groups: 1, settings: {} });
    try {
      Object.assign(figures, await measureResting(context, resting, deadEvery));
    } finally {
      await resting.close();
    }
    return figures;
  },
};
