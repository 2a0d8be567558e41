import { z } from 'zod';

/**
 * The parts of DMTF's resources that are read here. Tolerant on purpose: BMCs leave out required properties, answer
 * null for unknown ones and invent values.
 */

export const Reference = z.looseObject({ '@odata.id': z.string() });
/** A property that the standard types as `type`; anything else counts as absent. */
export const lenient = <Schema extends z.ZodType>(schema: Schema) => schema.nullish().catch(undefined);
const Names = lenient(z.array(z.string()));

export const ServiceRoot = z.looseObject({
  /** Maker of the BMC's program. */
  Vendor: lenient(z.string()),
  Systems: lenient(Reference),
  Managers: lenient(Reference),
  SessionService: lenient(Reference),
  UpdateService: lenient(Reference),
  Tasks: lenient(Reference),
  EventService: lenient(Reference),
  Links: lenient(z.looseObject({ Sessions: lenient(Reference) })),
});

export const TaskService = z.looseObject({ Tasks: lenient(Reference) });

export const SessionService = z.looseObject({ Sessions: lenient(Reference) });

export const Status = z.looseObject({ State: lenient(z.string()), Health: lenient(z.string()) });
export type Status = z.infer<typeof Status>;

const ResetAction = z.looseObject({
  target: lenient(z.string()),
  'ResetType@Redfish.AllowableValues': Names,
  '@Redfish.ActionInfo': lenient(z.string()),
});

export const Boot = z.looseObject({
  BootSourceOverrideTarget: lenient(z.string()),
  BootSourceOverrideEnabled: lenient(z.string()),
  BootSourceOverrideMode: lenient(z.string()),
  'BootSourceOverrideTarget@Redfish.AllowableValues': Names,
  'BootSourceOverrideEnabled@Redfish.AllowableValues': Names,
});
export type Boot = z.infer<typeof Boot>;

export const SerialConsole = z.looseObject({
  SSH: lenient(
    z.looseObject({
      ServiceEnabled: lenient(z.boolean()),
      Port: lenient(z.number()),
      SharedWithManagerCLI: lenient(z.boolean()),
      ConsoleEntryCommand: lenient(z.string()),
    }),
  ),
  WebSocket: lenient(z.looseObject({ ServiceEnabled: lenient(z.boolean()), ConsoleURI: lenient(z.string()) })),
});
export type SerialConsole = z.infer<typeof SerialConsole>;

export const ComputerSystem = z.looseObject({
  '@odata.id': lenient(z.string()),
  Manufacturer: lenient(z.string()),
  Model: lenient(z.string()),
  PowerState: lenient(z.string()),
  Boot: lenient(Boot),
  Bios: lenient(Reference),
  BiosVersion: lenient(z.string()),
  Storage: lenient(Reference),
  SecureBoot: lenient(Reference),
  VirtualMedia: lenient(Reference),
  SerialConsole: lenient(SerialConsole),
  LogServices: lenient(Reference),
  Links: lenient(
    z.looseObject({
      ManagedBy: lenient(z.array(Reference)),
      Managers: lenient(z.array(Reference)),
      Chassis: lenient(z.array(Reference)),
    }),
  ),
  Actions: lenient(z.looseObject({ '#ComputerSystem.Reset': lenient(ResetAction) })),
  '@Redfish.Settings': lenient(z.looseObject({ SettingsObject: lenient(Reference) })),
});
export type ComputerSystem = z.infer<typeof ComputerSystem>;

export const Action = lenient(z.looseObject({ target: z.string() }));

/** A BMC. */
export const Manager = z.looseObject({
  ManagerType: lenient(z.string()),
  FirmwareVersion: lenient(z.string()),
  VirtualMedia: lenient(Reference),
  Actions: lenient(z.looseObject({ '#Manager.Reset': Action })),
});
export type Manager = z.infer<typeof Manager>;

/** `SecureBootEnable` is what was asked for; it holds from the next boot on. */
export const SecureBoot = z.looseObject({
  SecureBootEnable: lenient(z.boolean()),
  '@Redfish.Settings': lenient(z.looseObject({ SettingsObject: lenient(Reference) })),
});
export type SecureBoot = z.infer<typeof SecureBoot>;

export const ActionInfo = z.looseObject({
  Parameters: z.array(z.looseObject({ Name: z.string(), AllowableValues: Names })),
});

/** DMTF's Message; iLO 4 writes `MessageID`. */
export const Message = z
  .looseObject({
    Message: lenient(z.string()),
    MessageId: lenient(z.string()),
    MessageID: lenient(z.string()),
    MessageArgs: Names,
    RelatedProperties: Names,
    Severity: lenient(z.string()),
    MessageSeverity: lenient(z.string()),
  })
  .transform(({ MessageID: other, ...message }) => ({ ...message, MessageId: message.MessageId ?? other }));

/** A task, or what a monitor answers about one; Dell's may be jobs, whose words have other names (DMTF Job schema). */
export const Task = z
  .looseObject({
    TaskState: lenient(z.string()),
    TaskStatus: lenient(z.string()),
    JobState: lenient(z.string()),
    JobStatus: lenient(z.string()),
    TaskMonitor: lenient(z.string()),
    '@odata.id': lenient(z.string()),
    PercentComplete: lenient(z.number()),
    Messages: lenient(z.array(Message)),
    Message: lenient(z.string()),
    MessageId: lenient(z.string()),
    Payload: lenient(z.looseObject({ TargetUri: lenient(z.string()) })),
  })
  .transform(({ JobState: state, JobStatus: status, Message: text, MessageId: id, ...task }) => ({
    ...task,
    TaskState: task.TaskState ?? state,
    TaskStatus: task.TaskStatus ?? status,
    Messages: task.Messages ?? (state && (text || id) ? [Message.parse({ Message: text, MessageId: id })] : undefined),
  }));

// one vendor sends the single message without the array
export const ExtendedInfos = z.union([z.array(Message), Message.transform((info) => [info])]);

// iDRAC 8 of before 2.50 says in which language, as OData's version 3 does
const Words = z.union([z.string(), z.looseObject({ value: z.string() }).transform(({ value }) => value)]);

export const ErrorBody = z.looseObject({
  error: z.looseObject({
    code: lenient(z.string()),
    message: lenient(Words),
    '@Message.ExtendedInfo': lenient(ExtendedInfos),
  }),
});
