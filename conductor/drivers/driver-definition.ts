import type { BmcSession, LeftSession, SessionRecord } from '#conductor/drivers/bmc-session.ts';
import type { Bmc } from '#conductor/drivers/interfaces.ts';
import type { InterfaceKind } from '#conductor/model/node-words.ts';
import type { PowerState } from '#conductor/model/power-and-boot.ts';
import type { Clock } from '#shared/clock.ts';
import type { Log } from '#shared/log.ts';
import type { OutboundRules } from '#shared/peers/outbound-url.ts';
import type { Run } from '#shared/process/run.ts';

/** Means that a hardware type may use to reach BMCs; shared by all nodes (session caches live behind it). */
export interface DriverContext {
  readonly run: Run;
  readonly log: Log;
  /** Default: the system's clock. */
  readonly clock?: Clock;
  /** Where BMCs may be; default: anywhere. */
  readonly outbound?: OutboundRules;
  /** Below which `redfish_verify_ca` and `virtual_media_verify_ca` may name files. */
  readonly caDirectory?: string;
  /** Where sessions at BMCs go on record; default: nowhere. */
  readonly sessions?: SessionRecord;
}

/** A property of `driver_info`. */
export interface DriverField {
  /** The field's text as Ironic's `/properties` answers it, `Required.` or `Optional.` in it. */
  readonly meaning: string;
  /**
   * Whether it is a secret, whose name must be one that `secret-names.ts` knows: with the fields that decide where, and
   * how well guarded, it is sent.
   */
  readonly secret?: { readonly sentBy: readonly string[] };
  /** Name and form that site documents have for it below `oob`; absent = they can't give it. */
  readonly site?: { readonly name: string; readonly value: 'text' | 'whole number' | 'true, false or a path' };
}

type ByInterface<Value> = Readonly<Partial<Record<InterfaceKind, Value>>>;

/** All that is known of a hardware type: a row of `driver-table.ts`, of `GET /v1/drivers`. */
export interface DriverDefinition<Options extends object = object> {
  readonly name: string;
  readonly fields: Readonly<Record<string, DriverField>>;
  /**
   * Describes what is wrong with a field's value by itself, as it is written to a node: neither files nor the BMC are
   * asked.
   */
  readonly fieldFault?: (field: string, value: unknown) => string | undefined;
  /** Where the BMC is, and who calls: fields. Absent where there is no BMC. */
  readonly bmc?: { readonly address: string; readonly username: string; readonly password: string };
  /** Names that its nodes may have in place of what every driver has (`nodes/node-interfaces.ts`), the default first. */
  readonly interfaces: ByInterface<readonly string[]>;
  readonly site: {
    /** Values that documents may write as `oob.type`, the name to recommend first. */
    readonly types: readonly [string, ...string[]];
    /** @throws AppError `invalid_argument` for what its documents say, the login and this machine's files aside. */
    readonly check?: (driverInfo: Readonly<Record<string, unknown>>) => unknown;
    /** Distinguishes the machine from others, so that no two nodes are one; `undefined` = not known. */
    readonly machine?: (driverInfo: Readonly<Record<string, unknown>>) => string | undefined;
  };
  open(context: DriverContext, options?: Options): HardwareType;
}

/** The node's power as it is on record, for hardware that exists nowhere else. */
export interface StoredPower {
  readonly uuid: string;
  /** null = unknown. */
  readonly powerState: PowerState | null;
}

/** A hardware type at work in one conductor. */
export interface HardwareType {
  /** @throws AppError `invalid_argument` naming each missing or malformed driver_info property. */
  connect(driverInfo: Readonly<Record<string, unknown>>, stored?: StoredPower): Bmc;
  /** Ends what only this node needed: it has another driver now. */
  leave?(uuid: string): void;
  /** Ends a session that a conductor has left at a BMC, where that BMC is reached from here. Does not throw. */
  endLeft?(session: BmcSession, signal: AbortSignal): Promise<LeftSession>;
  /** Lets go of cached sessions; called once when the conductor stops. */
  close?(): Promise<void>;
}
