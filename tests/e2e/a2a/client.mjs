// The official client at an agent of a bridge: one message, the answer to what it asks, sent twice,
// and a task that is cancelled. `node client.mjs URL TRANSPORT TEXT`: the URL of an agent that asks;
// TRANSPORT is `JSONRPC` or `HTTP+JSON`. Prints what came of it, as JSON.
import { randomUUID } from 'node:crypto'
import { ClientFactory, JsonRpcTransportFactory, RestTransportFactory } from '@a2a-js/sdk/client'

const [url, transport, text] = process.argv.slice(2)
const transports = [new JsonRpcTransportFactory(), new RestTransportFactory()]
const factory = new ClientFactory({ transports, preferredTransports: [transport] })
const client = await factory.createFromUrl(`${url}/`)

// The SDK's own types are those of protocol buffers: a union is {$case, value}.
const part = ($case, value) => ({ content: { $case, value }, metadata: undefined, filename: '', mediaType: '' })
const message = (parts, more = {}) => ({
  tenant: '',
  message: {
    messageId: randomUUID(), contextId: '', taskId: '', role: 1, parts,
    metadata: undefined, extensions: [], referenceTaskIds: [], ...more,
  },
  configuration: undefined,
  metadata: undefined,
})
const heard = async (stream) => {
  const events = []
  for await (const event of stream) events.push(event)
  return events
}
const get = (id) => client.getTask({ tenant: '', id })

const asked = await client.sendMessage(message([part('text', text)]))
const outcome = { asked, interface: client.transport.protocolName }
const [data] = asked.status.message.parts.filter((each) => each.content.$case === 'data')
const [interrupt] = data.content.value.interrupts
const resume = [{ interruptId: interrupt.id, status: 'resolved', payload: { approved: true } }]
const answer = message([part('data', { resume })], { taskId: asked.id, contextId: asked.contextId })
outcome.events = await heard(client.sendMessageStream(answer))
outcome.again = await client.sendMessage(answer)
outcome.done = await get(asked.id)
const other = await client.sendMessage(message([part('text', text)]))
outcome.cancelled = await client.cancelTask({ tenant: '', id: other.id, metadata: undefined })
const refused = async (work) => {
  try {
    await work()
  } catch (error) {
    return error.name
  }
}
outcome.refused = [
  await refused(() => client.cancelTask({ tenant: '', id: other.id, metadata: undefined })),
  await refused(() => get('nothing')),
]
console.log(JSON.stringify(outcome))
