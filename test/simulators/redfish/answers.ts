import type { IncomingMessage } from 'node:http';

/** Answer of the simulator, before quirks and faults touch it. */
export interface Answer {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

const baseMessages: Readonly<Record<string, { readonly text: string; readonly resolution: string }>> = {
  Success: { text: 'The request completed successfully.', resolution: 'None.' },
  NoValidSession: {
    text: 'There is no valid session established with the implementation.',
    resolution: 'Establish a session before attempting any operations.',
  },
  InsufficientPrivilege: {
    text: 'There are insufficient privileges for the account or credentials associated with the current session to perform the requested operation.',
    resolution: 'Either abandon the operation or change the associated access rights.',
  },
  ResourceAtUriUnauthorized: {
    text: 'While accessing the resource, the service received an authorization error.',
    resolution: 'Ensure that the appropriate access is provided.',
  },
  ResourceNotFound: {
    text: 'The requested resource was not found.',
    resolution: 'Provide a valid resource identifier and resubmit the request.',
  },
  OperationNotAllowed: {
    text: 'The HTTP method is not allowed on this resource.',
    resolution: 'None.',
  },
  PreconditionFailed: {
    text: 'The ETag supplied did not match the ETag required to change this resource.',
    resolution: 'Try the operation again using the appropriate ETag.',
  },
  PreconditionRequired: {
    text: 'A precondition header or annotation is required to change this resource.',
    resolution: 'Try the operation again using an If-Match or If-None-Match header and appropriate ETag.',
  },
  MalformedJSON: {
    text: 'The request body submitted was malformed JSON and could not be parsed by the receiving service.',
    resolution: 'Ensure that the request body is valid JSON and resubmit the request.',
  },
  PropertyValueNotInList: {
    text: 'The value provided is not in the list of acceptable values.',
    resolution: 'Choose a value from the enumeration list that the implementation can support.',
  },
  PropertyNotWritable: {
    text: 'The property is a read only property and cannot be assigned a value.',
    resolution: 'Remove the property from the request body and resubmit the request.',
  },
  PropertyValueError: {
    text: 'The value provided for the property is not acceptable.',
    resolution: 'Correct the value for the property in the request body and resubmit the request.',
  },
  PropertyUnknown: {
    text: 'A property in the request body is not one that the resource has.',
    resolution: 'Remove the unknown property from the request body and resubmit the request.',
  },
  PropertyMissing: {
    text: 'A required property is missing from the request.',
    resolution: 'Ensure that the property is in the request body and has a valid value.',
  },
  ActionParameterNotSupported: {
    text: 'The action was submitted with a parameter value that is not supported.',
    resolution: 'Remove the parameter supplied and resubmit the request.',
  },
  ActionParameterMissing: {
    text: 'The action requires a parameter that is missing.',
    resolution: 'Supply the action with the required parameter.',
  },
  ServiceTemporarilyUnavailable: {
    text: 'The service is temporarily unavailable.',
    resolution: 'Wait for the indicated retry duration and retry the operation.',
  },
  InternalError: { text: 'The request failed due to an internal service error.', resolution: 'Resubmit the request.' },
};

export type BaseMessage = keyof typeof baseMessages;

/** The messages of the Base registry that the simulator uses, as the registry resource lists them. */
export function baseRegistryMessages(): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(baseMessages).map(([name, { text, resolution }]) => [
      name,
      {
        Description: text,
        Message: text,
        MessageSeverity: name === 'Success' ? 'OK' : 'Critical',
        Severity: name === 'Success' ? 'OK' : 'Critical',
        NumberOfArgs: 0,
        Resolution: resolution,
      },
    ]),
  );
}

/** A DMTF error body (DSP0266, error responses): `error.code`, `.message`, `.@Message.ExtendedInfo`. */
export function errorAnswer(
  status: number,
  message: BaseMessage,
  options: { readonly text?: string; readonly id?: string; readonly headers?: Readonly<Record<string, string>> } = {},
): Answer {
  const id = options.id ?? `Base.1.8.${message}`;
  const known = baseMessages[message];
  const text = options.text ?? known?.text ?? message;
  return {
    status,
    ...(options.headers ? { headers: options.headers } : {}),
    body: {
      error: {
        code: id,
        message: text,
        '@Message.ExtendedInfo': [
          {
            '@odata.type': '#Message.v1_1_1.Message',
            MessageId: id,
            Message: text,
            Severity: 'Critical',
            MessageSeverity: 'Critical',
            Resolution: known?.resolution ?? 'None.',
          },
        ],
      },
    },
  };
}

/** The request body as text; the simulator's bodies are small. */
export async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

/** `undefined` for what is not JSON object. */
export function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
