import type { Area } from '#test/bench/area.ts';
import { apiArea } from '#test/bench/areas/api.ts';
import { boardArea } from '#test/bench/areas/board.ts';
import { bootArea } from '#test/bench/areas/boot.ts';
import { chunksArea } from '#test/bench/areas/chunks.ts';
import { conductorArea } from '#test/bench/areas/conductor.ts';
import { demoArea } from '#test/bench/areas/demo.ts';
import { deploysArea } from '#test/bench/areas/deploys.ts';
import { doorsArea } from '#test/bench/areas/doors.ts';
import { eventsArea } from '#test/bench/areas/events.ts';
import { failoverArea } from '#test/bench/areas/failover.ts';
import { fleetAreas } from '#test/bench/areas/fleet.ts';
import { fleetSiteArea } from '#test/bench/areas/fleet-site.ts';
import { hostileArea } from '#test/bench/areas/hostile.ts';
import { importArea } from '#test/bench/areas/import.ts';
import { inspectArea } from '#test/bench/areas/inspect.ts';
import { networksArea } from '#test/bench/areas/networks.ts';
import { patroniArea } from '#test/bench/areas/patroni.ts';
import { planArea } from '#test/bench/areas/plan.ts';
import { ramdiskArea } from '#test/bench/areas/ramdisk.ts';
import { rehearseArea } from '#test/bench/areas/rehearse.ts';
import { siteArea } from '#test/bench/areas/site.ts';
import { stepArea } from '#test/bench/areas/step.ts';
import { swarmArea } from '#test/bench/areas/swarm.ts';
import { teardownArea } from '#test/bench/areas/teardown.ts';
import { trustArea } from '#test/bench/areas/trust.ts';
import { writeImageArea } from '#test/bench/areas/write-image.ts';

/** Every area of `npm run bench`, one file each. */
export const areas: readonly Area[] = [
  ramdiskArea,
  bootArea,
  planArea,
  trustArea,
  importArea,
  inspectArea,
  demoArea,
  stepArea,
  conductorArea,
  deploysArea,
  apiArea,
  networksArea,
  siteArea,
  rehearseArea,
  teardownArea,
  writeImageArea,
  chunksArea,
  swarmArea,
  hostileArea,
  doorsArea,
  failoverArea,
  patroniArea,
  ...fleetAreas,
  fleetSiteArea,
  eventsArea,
  boardArea,
];
