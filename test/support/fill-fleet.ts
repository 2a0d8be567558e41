import type { Client } from 'pg';

interface FleetSize {
  readonly from: number;
  readonly to: number;
}

/** Rows that each node of the filled fleet has behind it. */
export const past = { flows: 3, steps: 8, history: 10 } as const;

/** The name and the only MAC address of a node of the filled fleet. */
export function filledNode(number: number): { readonly name: string; readonly mac: string } {
  const digits = number.toString(16).padStart(6, '0');
  return { name: `filled-${number}`, mac: `52:54:00:${digits.match(/../g)?.join(':')}` };
}

const statements = [
  `insert into nodes (uuid, name, driver, driver_info, properties, extra, resource_class, network_interface, deploy_interface,
     automated_clean, provision_state, power_state)
   select gen_random_uuid(), 'filled-' || n, 'fake-hardware', jsonb_build_object('fake_id', n),
     jsonb_build_object('cpu_arch', 'x86_64', 'cpus', 64, 'memory_mb', 262144, 'local_gb', 960),
     jsonb_build_object('rack', 'r' || n / 40, 'serial', 'SN-' || n), 'class' || n % 10, 'noop', 'fake', false,
     (array['enroll', 'manageable', 'available', 'available', 'active'])[1 + n % 5], 'power off'
   from generate_series($1::int, $2::int) n`,
  `insert into ports (uuid, node_uuid, address)
   select gen_random_uuid(), nodes.uuid, regexp_replace('525400' || lpad(to_hex(n), 6, '0'), '(..)(?!$)', '\\1:', 'g')
   from generate_series($1::int, $2::int) n join nodes on nodes.name = 'filled-' || n`,
  `insert into flows (uuid, node_uuid, kind, state, started_at, ended_at)
   select gen_random_uuid(), nodes.uuid, 'deploy', 'succeeded', now() - make_interval(days => f), now() - make_interval(days => f)
   from generate_series($1::int, $2::int) n join nodes on nodes.name = 'filled-' || n, generate_series(1, ${past.flows}) f`,
  `insert into flow_steps (uuid, flow_uuid, phase, position, interface, step, priority, origin, in_band, state, started_at, ended_at)
   select gen_random_uuid(), flows.uuid, 'main', s, 'deploy', 'step' || s, 100 - s, 'core', true, 'succeeded',
     flows.started_at, flows.ended_at
   from generate_series($1::int, $2::int) n join nodes on nodes.name = 'filled-' || n
     join flows on flows.node_uuid = nodes.uuid and flows.kind = 'deploy', generate_series(1, ${past.steps}) s`,
  `insert into flow_events (flow_uuid, step_uuid, event, conductor)
   select s.flow_uuid, s.uuid, event, 'filled'
   from generate_series($1::int, $2::int) n join nodes on nodes.name = 'filled-' || n
     join flows on flows.node_uuid = nodes.uuid join flow_steps s on s.flow_uuid = flows.uuid,
     unnest(array['started', 'succeeded']) event`,
  `insert into node_history (uuid, node_uuid, severity, event_type, event, conductor)
   select gen_random_uuid(), nodes.uuid, 'INFO', 'provisioning', 'event ' || h, 'filled'
   from generate_series($1::int, $2::int) n join nodes on nodes.name = 'filled-' || n, generate_series(1, ${past.history}) h`,
] as const;

/** Writes nodes with a port and a past into the database of conductors; all of them at rest. */
export async function fillFleet(database: Pick<Client, 'query'>, { from, to }: FleetSize): Promise<void> {
  for (const statement of statements) await database.query(statement, [from, to - 1]);
  await database.query('vacuum analyze');
}
