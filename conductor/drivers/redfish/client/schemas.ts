import { z } from 'zod';

/**
 * The parts of DMTF's resources that are read here. Tolerant on purpose: BMCs leave out required properties, answer
 * null for unknown ones and invent values.
 */

export const Reference = z.looseObject({ '@odata.id': z.string() });
/** A property that the standard types as `type`; anything else counts as absent. */
export const orUndefined = <Schema extends z.ZodType>(schema: Schema) => schema.nullish().catch(undefined);
const Names = orUndefined(z.array(z.string()));

export const ServiceRoot = z.looseObject({
  /** Maker of the BMC's program. */
  Vendor: orUndefined(z.string()),
  Systems: orUndefined(Reference),
  Managers: orUndefined(Reference),
  SessionService: orUndefined(Reference),
  UpdateService: orUndefined(Reference),
  Tasks: orUndefined(Reference),
  EventService: orUndefined(Reference),
  Links: orUndefined(z.looseObject({ Sessions: orUndefined(Reference) })),
});

export const TaskService = z.looseObject({ Tasks: orUndefined(Reference) });

export const SessionService = z.looseObject({ Sessions: orUndefined(Reference) });

/** A session at the BMC. */
export const LoginSession = z.looseObject({
  '@odata.id': orUndefined(z.string()),
  Id: orUndefined(z.string()),
  UserName: orUndefined(z.string()),
});

export const Status = z.looseObject({ State: orUndefined(z.string()), Health: orUndefined(z.string()) });
export type Status = z.infer<typeof Status>;

const ResetAction = z.looseObject({
  target: orUndefined(z.string()),
  'ResetType@Redfish.AllowableValues': Names,
  '@Redfish.ActionInfo': orUndefined(z.string()),
});

export const Boot = z.looseObject({
  BootSourceOverrideTarget: orUndefined(z.string()),
  BootSourceOverrideEnabled: orUndefined(z.string()),
  BootSourceOverrideMode: orUndefined(z.string()),
  'BootSourceOverrideTarget@Redfish.AllowableValues': Names,
  'BootSourceOverrideEnabled@Redfish.AllowableValues': Names,
});
export type Boot = z.infer<typeof Boot>;

export const SerialConsole = z.looseObject({
  SSH: orUndefined(
    z.looseObject({
      ServiceEnabled: orUndefined(z.boolean()),
      Port: orUndefined(z.number()),
      SharedWithManagerCLI: orUndefined(z.boolean()),
      ConsoleEntryCommand: orUndefined(z.string()),
    }),
  ),
  WebSocket: orUndefined(
    z.looseObject({ ServiceEnabled: orUndefined(z.boolean()), ConsoleURI: orUndefined(z.string()) }),
  ),
});
export type SerialConsole = z.infer<typeof SerialConsole>;

export const ComputerSystem = z.looseObject({
  '@odata.id': orUndefined(z.string()),
  Manufacturer: orUndefined(z.string()),
  Model: orUndefined(z.string()),
  SerialNumber: orUndefined(z.string()),
  UUID: orUndefined(z.string()),
  PowerState: orUndefined(z.string()),
  Status: orUndefined(Status),
  ProcessorSummary: orUndefined(
    z.looseObject({
      Count: orUndefined(z.number()),
      LogicalProcessorCount: orUndefined(z.number()),
      Model: orUndefined(z.string()),
    }),
  ),
  MemorySummary: orUndefined(z.looseObject({ TotalSystemMemoryGiB: orUndefined(z.number()) })),
  Processors: orUndefined(Reference),
  Memory: orUndefined(Reference),
  EthernetInterfaces: orUndefined(Reference),
  Boot: orUndefined(Boot),
  Bios: orUndefined(Reference),
  BiosVersion: orUndefined(z.string()),
  Storage: orUndefined(Reference),
  SimpleStorage: orUndefined(Reference),
  SecureBoot: orUndefined(Reference),
  VirtualMedia: orUndefined(Reference),
  SerialConsole: orUndefined(SerialConsole),
  LogServices: orUndefined(Reference),
  Links: orUndefined(
    z.looseObject({
      ManagedBy: orUndefined(z.array(Reference)),
      Managers: orUndefined(z.array(Reference)),
      Chassis: orUndefined(z.array(Reference)),
    }),
  ),
  Actions: orUndefined(z.looseObject({ '#ComputerSystem.Reset': orUndefined(ResetAction) })),
  '@Redfish.Settings': orUndefined(z.looseObject({ SettingsObject: orUndefined(Reference) })),
});
export type ComputerSystem = z.infer<typeof ComputerSystem>;

export const Action = orUndefined(z.looseObject({ target: z.string() }));

/** A BMC. */
export const Manager = z.looseObject({
  ManagerType: orUndefined(z.string()),
  Model: orUndefined(z.string()),
  FirmwareVersion: orUndefined(z.string()),
  DateTime: orUndefined(z.string()),
  VirtualMedia: orUndefined(Reference),
  Actions: orUndefined(z.looseObject({ '#Manager.Reset': Action })),
});
export type Manager = z.infer<typeof Manager>;

/** `SecureBootEnable` is what was asked for; it holds from the next boot on. */
export const SecureBoot = z.looseObject({
  SecureBootEnable: orUndefined(z.boolean()),
  '@Redfish.Settings': orUndefined(z.looseObject({ SettingsObject: orUndefined(Reference) })),
});
export type SecureBoot = z.infer<typeof SecureBoot>;

export const ActionInfo = z.looseObject({
  Parameters: z.array(z.looseObject({ Name: z.string(), AllowableValues: Names })),
});

/** DMTF's Message; iLO 4 writes `MessageID`. */
export const Message = z
  .looseObject({
    Message: orUndefined(z.string()),
    MessageId: orUndefined(z.string()),
    MessageID: orUndefined(z.string()),
    MessageArgs: Names,
    RelatedProperties: Names,
    Severity: orUndefined(z.string()),
    MessageSeverity: orUndefined(z.string()),
  })
  .transform(({ MessageID: other, ...message }) => ({ ...message, MessageId: message.MessageId ?? other }));

// one vendor sends the single message without the array; one that is none says nothing that could be understood
const Messages = z
  .union([z.array(z.unknown()), z.unknown().transform((one) => [one])])
  .transform((all) =>
    all.map((each) => Message.safeParse(each).data ?? Message.parse(typeof each === 'string' ? { Message: each } : {})),
  );

/** Health of a task; a value of another type is not known to be good. */
const TaskStatus = z.string().nullish().catch('Unknown');

/**
 * The fields of a job of Dell's that are read here, in its `Jobs` and in `Oem` of its tasks
 * (https://github.com/dell/iDRAC-Redfish-Scripting/issues/313 and /319).
 */
const DellJob = z.looseObject({
  JobState: orUndefined(z.string()),
  JobType: orUndefined(z.string()),
});

/** A task, or what a monitor answers about one; Dell's may be jobs, whose words have other names (DMTF Job schema). */
export const Task = z
  .looseObject({
    TaskState: orUndefined(z.string()),
    TaskStatus,
    JobState: orUndefined(z.string()),
    JobStatus: TaskStatus,
    TaskMonitor: orUndefined(z.string()),
    '@odata.id': orUndefined(z.string()),
    PercentComplete: orUndefined(z.number()),
    Messages: orUndefined(Messages),
    Message: orUndefined(z.string()),
    MessageId: orUndefined(z.string()),
    Payload: orUndefined(z.looseObject({ TargetUri: orUndefined(z.string()) })),
    JobType: orUndefined(z.string()),
    Oem: orUndefined(z.looseObject({ Dell: orUndefined(DellJob) })),
  })
  .transform(({ JobState: state, JobStatus: status, Message: text, MessageId: id, ...task }) => ({
    ...task,
    TaskState: task.TaskState ?? state ?? task.Oem?.Dell?.JobState,
    JobType: task.JobType ?? task.Oem?.Dell?.JobType,
    TaskStatus: task.TaskStatus ?? status,
    Messages: task.Messages ?? (state && (text || id) ? [Message.parse({ Message: text, MessageId: id })] : undefined),
  }));

export const ExtendedInfos = orUndefined(Messages);

// iDRAC 8 of before 2.50 says in which language, as OData's version 3 does
const Words = z.union([z.string(), z.looseObject({ value: z.string() }).transform(({ value }) => value)]);

export const ErrorBody = z.looseObject({
  error: z.looseObject({
    code: orUndefined(z.string()),
    message: orUndefined(Words),
    '@Message.ExtendedInfo': ExtendedInfos,
  }),
});

/**
 * The error that iLO 4 answers to clients that ask for less than Redfish 1.0
 * (https://github.com/openstack-archive/proliantutils/blob/00531fd385811e1e0625908df7b3eb2cc736ff91/proliantutils/ilo/ris.py).
 */
export const OldError = z.looseObject({ Type: z.string().regex(/^ExtendedError\./), Messages });
