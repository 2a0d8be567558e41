/**
 * A switch driver answers for one switch and knows no database. It throws `AppError` (`switch_error`, `unavailable`,
 * `not_found` for an unknown port, `invalid_argument` for a bad endpoint).
 */

/**
 * How a switch port stands: `undefined` = isolated from every network that Baton knows; 0 = anything else that is no
 * access port (a trunk, a port that nobody has set up), which no wish matches, so that it is always put right.
 */
export interface SwitchPortState {
  readonly portId: string;
  readonly accessVlan: number | undefined;
}

export type SwitchPortOperation =
  | { readonly kind: 'set access VLAN'; readonly portId: string; readonly vlan: number }
  | { readonly kind: 'isolate'; readonly portId: string };

export interface SwitchConnection {
  /** States of the named ports, in the same order. */
  readPorts(portIds: readonly string[], signal?: AbortSignal): Promise<SwitchPortState[]>;
  /** All operations in one transaction where the switch can; safe to repeat. */
  apply(operations: readonly SwitchPortOperation[], signal?: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

export interface SwitchDriver {
  readonly name: string;
  /** `endpoint` in the driver's own form: `unix:/run/openvswitch/db.sock`, `tcp:127.0.0.1:6640`. */
  connect(options: { readonly endpoint: string }): SwitchConnection;
}
