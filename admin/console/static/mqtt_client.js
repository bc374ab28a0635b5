// An MQTT client on MQTT.js: connect, subscribe, publish, and see what comes. All of it stays in the browser.
const LONGEST = 200; // messages that are kept on the page

export default {
  props: { gateways: Array },
  template: `
    <div class="trying">
      <form class="card" @submit.prevent="connect">
        <div class="card-head"><h2>Connection</h2><span class="chip" :class="tone" role="status">{{ state }}</span></div>
        <q-input v-model="url" label="Address" outlined dense stack-label :disable="isOpen" autocomplete="off" spellcheck="false" />
        <div v-if="gateways.length > 1" class="buttons">
          <button v-for="one in gateways" :key="one.node" type="button" class="act" :disabled="isOpen" @click="url = address(one)">{{ one.node }}</button>
        </div>
        <div class="split">
          <q-input v-model="clientId" label="Client ID" outlined dense stack-label :disable="isOpen" autocomplete="off" />
          <q-select v-model="version" label="Protocol" :options="versions" emit-value map-options outlined dense stack-label :disable="isOpen" />
        </div>
        <div class="split">
          <q-input v-model="username" label="User name" outlined dense stack-label :disable="isOpen" autocomplete="off" />
          <q-input v-model="password" label="Password" type="password" outlined dense stack-label :disable="isOpen" autocomplete="new-password" />
        </div>
        <div class="split">
          <q-input v-model.number="expiry" label="Session kept, in seconds" type="number" min="0" outlined dense stack-label :disable="isOpen" />
          <q-checkbox v-model="clean" label="Clean start" :disable="isOpen" />
        </div>
        <p v-if="problem" class="problem" role="alert">{{ problem }}</p>
        <div class="buttons">
          <q-btn v-if="!isOpen" type="submit" label="Connect" unelevated no-caps color="primary" text-color="on-accent" />
          <q-btn v-else label="Disconnect" outline no-caps color="primary" @click="disconnect" />
        </div>
      </form>
      <div class="column-cards">
        <form class="card" @submit.prevent="subscribe">
          <h2>Subscriptions</h2>
          <div class="asked">
            <q-input v-model="filter" label="Filter" outlined dense stack-label class="mono" autocomplete="off" spellcheck="false" />
            <q-select v-model="filterQos" label="QoS" :options="[0, 1, 2]" outlined dense stack-label class="narrow" />
            <q-btn type="submit" label="Subscribe" unelevated no-caps color="primary" text-color="on-accent" :disable="!isConnected" />
          </div>
          <ul class="held">
            <li v-for="one in subscriptions" :key="one.filter"><code>{{ one.filter }}</code> <small>QoS {{ one.qos }}</small>
              <button type="button" class="act danger" :aria-label="'Unsubscribe: ' + one.filter" @click="unsubscribe(one)">Unsubscribe</button></li>
          </ul>
        </form>
        <form class="card" @submit.prevent="publish">
          <h2>Publish</h2>
          <div class="asked">
            <q-input v-model="topic" label="Topic" outlined dense stack-label class="mono" autocomplete="off" spellcheck="false" />
            <q-select v-model="qos" label="QoS" :options="[0, 1, 2]" outlined dense stack-label class="narrow" />
          </div>
          <q-input v-model="payload" label="Payload" type="textarea" rows="2" outlined dense stack-label class="mono" spellcheck="false" />
          <div class="buttons">
            <q-btn type="submit" label="Publish" unelevated no-caps color="primary" text-color="on-accent" :disable="!isConnected" />
            <q-checkbox v-model="retain" label="Retain it" dense />
          </div>
        </form>
      </div>
      <section class="card messages">
        <div class="card-head"><h2>Messages</h2>
          <button v-if="messages.length" type="button" class="act" @click="messages = []">Clear</button></div>
        <ol aria-live="polite">
          <li v-for="one in messages" :key="one.number" :class="one.way">
            <div><span class="way">{{ one.way === "in" ? "Received" : "Sent" }}</span> <code>{{ one.topic }}</code>
              <small>{{ one.time }}, QoS {{ one.qos }}{{ one.retain ? ", retained" : "" }}</small></div>
            <pre>{{ one.payload }}</pre>
          </li>
          <li v-if="!messages.length" class="soft">Nothing yet.</li>
        </ol>
      </section>
    </div>`,
  data() {
    const known = this.gateways?.[0];
    return {
      url: known ? this.address(known) : `${location.protocol === "https:" ? "wss" : "ws"}://${location.hostname}:8084/mqtt`,
      clientId: "console-" + crypto.getRandomValues(new Uint32Array(1))[0].toString(36),
      username: "", password: "", version: 5, clean: true, expiry: 0,
      versions: [{ label: "MQTT 5.0", value: 5 }, { label: "MQTT 3.1.1", value: 4 }],
      filter: "#", filterQos: 1, topic: "", qos: 1, payload: "", retain: false,
      state: "Not connected", tone: "", isOpen: false, isConnected: false, problem: "",
      subscriptions: [], messages: [], count: 0,
    };
  },
  methods: {
    address(one) {
      // A gateway that listens on all addresses is where the console is, as far as this browser knows.
      const at = one.address.replace(/^(0\.0\.0\.0|\[::\]|\*)(?=:)/, location.hostname);
      return `${one.scheme}://${at}/mqtt`;
    },
    async connect() {
      this.problem = "";
      const { default: mqtt } = await import("sluicemq-mqtt");
      const options = {
        clientId: this.clientId, clean: this.clean, protocolVersion: this.version, keepalive: 30,
        reconnectPeriod: 0, connectTimeout: 30000, manualConnect: true,
      };
      if (this.username) options.username = this.username;
      if (this.password) options.password = this.password;
      if (this.version === 5 && this.expiry) options.properties = { sessionExpiryInterval: Number(this.expiry) };
      let client;
      try { client = mqtt.connect(this.url, options); } catch (error) { this.problem = this.said(error); return; }
      this.client = client;
      this.isOpen = true;
      this.show("Connecting", "chip-warn");
      client.on("connect", () => { this.isConnected = true; this.show("Connected", "chip-good"); });
      client.on("message", (topic, payload, packet) => this.note("in", topic, payload.toString(), packet.qos, packet.retain));
      client.on("disconnect", (packet) => { this.problem = `The gateway ended the connection (reason ${packet.reasonCode}).`; });
      client.on("error", (error) => { this.problem = this.said(error); client.end(true); });
      client.on("close", () => {
        if (this.client !== client) return;
        if (!this.isConnected && !this.problem) this.problem = "No gateway answers at this address.";
        this.isOpen = this.isConnected = false;
        this.subscriptions = [];
        this.show("Not connected", "");
      });
      try { client.connect(); } catch (error) { this.problem = this.said(error); this.isOpen = false; this.show("Not connected", ""); }
    },
    disconnect() {
      this.client.end();
    },
    async subscribe() {
      const filter = this.filter;
      try {
        const [granted] = await this.client.subscribeAsync(filter, { qos: this.filterQos });
        if (granted.qos >= 128) throw new Error(`the gateway refused it (reason ${granted.qos})`);
        this.subscriptions = [...this.subscriptions.filter((one) => one.filter !== filter), { filter, qos: granted.qos }];
        this.problem = "";
      } catch (error) { this.problem = `Not subscribed: ${this.said(error)}`; }
    },
    async unsubscribe(one) {
      await this.client.unsubscribeAsync(one.filter);
      this.subscriptions = this.subscriptions.filter((other) => other !== one);
    },
    async publish() {
      const { topic, payload, qos, retain } = this;
      try {
        await this.client.publishAsync(topic, payload, { qos, retain });
        this.note("out", topic, payload, qos, retain);
        this.problem = "";
      } catch (error) { this.problem = `Not published: ${this.said(error)}`; }
    },
    note(way, topic, payload, qos, retain) {
      this.messages.unshift({ number: ++this.count, way, topic, payload, qos, retain, time: new Date().toLocaleTimeString() });
      if (this.messages.length > LONGEST) this.messages.pop();
    },
    show(state, tone) {
      this.state = state;
      this.tone = tone;
    },
    said(error) {
      return error?.message || String(error);
    },
  },
  created() {
    this.client = null; // not reactive: MQTT.js does not work behind a proxy
  },
  unmounted() {
    this.client?.end(true);
  },
};
