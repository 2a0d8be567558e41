import { type DemoConductor, startDemoConductor } from '#test/demo/conductor.ts';
import { type DemoRack, startDemoRack } from '#test/demo/rack.ts';
import { startDemoSwitches, switchCredential } from '#test/demo/switches.ts';
import { bmcCredential } from '#test/support/simulated-site.ts';
import { createSiteOperator } from '#test/support/site-operator.ts';

/** A conductor, its machines and switches, and a site that is being deployed onto them. */
export interface Demo {
  readonly conductor: DemoConductor;
  readonly rack: DemoRack;
  /** The site's action, `deploy_site`. */
  readonly action: string;
  /** Ends all of it and deletes what it has made. */
  close(): Promise<void>;
}

interface Choice {
  readonly nodes: number;
  readonly port: number;
  /** Takes a line for the person who waits. */
  readonly say: (line: string) => void;
}

/**
 * Starts all of it; every node is there when it resolves.
 * @throws AppError `unavailable` with the end of its log where the conductor does not come up
 */
export async function openDemo({ nodes, port, say }: Choice): Promise<Demo> {
  await using opening = new AsyncDisposableStack();
  say('starting a conductor with a database of its own');
  const switches = await startDemoSwitches(nodes);
  opening.defer(() => switches.close()); // open ones would keep the process
  const conductor = await startDemoConductor(port, switches.networksFile);
  opening.defer(() => conductor.close());
  const { names } = switches;
  say(`starting ${nodes} simulated machines at ${names.length === 1 ? 'a switch' : `${names.length} switches`}`);
  const rack = await startDemoRack(nodes, { conductorUrl: conductor.url, portOf: switches.portOf });
  opening.defer(() => rack.close());
  const operator = createSiteOperator(conductor.url);
  for (const { name, account } of [bmcCredential, switchCredential]) await operator.setCredential(name, account);
  await operator.commit('demo', rack.documents);
  await rack.enrol();
  const action = await operator.createAction('deploy_site');
  const stack = opening.move();
  return { conductor, rack, action, close: () => stack.disposeAsync() };
}
